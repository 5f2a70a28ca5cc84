// Writes a GGUF file (version 3): metadata and tensors are told first, then the header is written,
// then the tensors' bytes come in pieces, in any order. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/gguf.h"
#include "checkpoint/output_file.h"

namespace tonnage {

class GgufWriter {
 public:
  // What a parsed file says, as it stands there.
  void Add(const GgufEntry& entry);
  void AddString(std::string_view key, std::string_view value);
  void AddU32(std::string_view key, std::uint32_t value);

  // `shape` outermost first; its rows are whole blocks of the type. Gives the tensor's index.
  size_t AddTensor(std::string_view name, const Shape& shape, const GgmlType& type);
  // Of the whole file, once everything is told.
  Bytes FileBytes() const { return HeaderBytes() + data_bytes_; }

  Status Create(const std::string& path);
  Status Write(size_t index, Bytes offset, std::span<const std::uint8_t> bytes);
  // Internal unless as many bytes were written as the tensors have.
  Status Finish();

 private:
  struct Tensor {
    Bytes begin;  // in the data
    Bytes bytes;
  };
  Bytes HeaderBytes() const;

  std::uint64_t entry_count_ = 0;
  std::string entries_;
  std::string infos_;
  std::vector<Tensor> tensors_;
  Bytes data_bytes_ = 0;
  Bytes written_ = 0;
  std::optional<OutputFile> file_;
};

}  // namespace tonnage
