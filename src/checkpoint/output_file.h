// A file that is written at any place, and whose errors are told. Owns the descriptor. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tonnage {

class OutputFile {
 public:
  // Creates the file, or empties it.
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status WriteAt(Bytes offset, std::span<const std::uint8_t> bytes);
  // Brings everything to the disk and closes the file.
  Status Finish();

 private:
  OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Error Failed(std::string_view what) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace tonnage
