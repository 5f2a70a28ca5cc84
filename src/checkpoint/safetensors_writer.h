// Writes a safetensors file whose tensors are told beforehand and whose bytes come in pieces, in
// any order. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/output_file.h"
#include "checkpoint/safetensors.h"

namespace tonnage {

class SafetensorsWriter {
 public:
  // Writes the header. Of the tensors' data nothing is needed yet.
  static Result<SafetensorsWriter> Create(
      const std::string& path, std::span<const SafetensorsTensor> tensors,
      std::span<const std::pair<std::string, std::string>> metadata = {});

  // Bytes of the tensor at `index` of those told, from `offset` on.
  Status Write(size_t index, Bytes offset, std::span<const std::uint8_t> bytes);
  // Internal unless as many bytes were written as the tensors have.
  Status Finish();

 private:
  explicit SafetensorsWriter(OutputFile file) : file_(std::move(file)) {}

  OutputFile file_;
  std::vector<Bytes> begins_;  // of each tensor in the file, and the end of the last
  Bytes written_ = 0;
};

}  // namespace tonnage
