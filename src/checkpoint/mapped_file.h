// A file mapped read-only into memory. Owns the mapping, whose address does not change when the
// object moves; whoever views its bytes must not outlive it. Safe to read from any thread. A file
// that somebody cuts short while it is mapped ends the process with SIGBUS, as with every mapped
// file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace tonnage {

class MappedFile {
 public:
  // Regular files only; an empty one gives empty bytes.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::span<const std::uint8_t> bytes)
      : path_(std::move(path)), bytes_(bytes) {}

  std::string path_;
  std::span<const std::uint8_t> bytes_;
};

// Hints on a range of a mapping; wrong or ignored hints change speed, never content.
// The range will be read soon, front to back.
void PrefetchPages(std::span<const std::uint8_t> range);
// The range will not be read again soon: the pages that lie wholly inside it leave this process's
// memory.
void ReleasePages(std::span<const std::uint8_t> range);

}  // namespace tonnage
