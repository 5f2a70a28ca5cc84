#include "checkpoint/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tonnage {

Result<OutputFile> OutputFile::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Unavailable("{}: cannot be created: {}", path, std::strerror(errno));
  return OutputFile(path, fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

Error OutputFile::Failed(std::string_view what) const {
  return Unavailable("{}: {}: {}", path_, what, std::strerror(errno));
}

Status OutputFile::WriteAt(Bytes offset, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed("cannot be written");
    offset += written;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::Finish() {
  if (fsync(fd_) != 0) return Failed("cannot be brought to the disk");
  if (close(std::exchange(fd_, -1)) != 0) return Failed("cannot be closed");
  return {};
}

}  // namespace tonnage
