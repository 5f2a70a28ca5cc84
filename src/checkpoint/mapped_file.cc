#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.h"

namespace tonnage {
namespace {

// The pages of `range`: those that it touches, or those that lie wholly inside it.
struct Pages {
  std::uintptr_t begin;
  std::uintptr_t end;
};
Pages PagesTouched(std::span<const std::uint8_t> range) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
  return {begin / page * page, begin + range.size()};
}
Pages PagesInside(std::span<const std::uint8_t> range) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
  return {(begin + page - 1) / page * page, (begin + range.size()) / page * page};
}

void Advise(Pages pages, int advice) {
  if (pages.begin >= pages.end) return;
  madvise(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, advice);
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const auto failed = [&path](std::string_view what) {
    return Unreadable("{}: {}: {}", path, what, std::strerror(errno));
  };
  // Without O_NONBLOCK, opening a named pipe would wait for somebody to write to it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed("cannot be opened");
  struct stat info {};
  void* address = nullptr;
  Status status;
  if (fstat(fd, &info) != 0) {
    status = failed("cannot be examined");
  } else if (!S_ISREG(info.st_mode)) {
    status = Unreadable("{}: is not a regular file", path);
  } else if (info.st_size > 0) {
    address = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) {
      // The file is well: a limit on this process's address space has no room for it.
      status = errno == ENOMEM
                   ? Refused("{}: {} of address space needed to map it, and not to be had", path,
                             FormatBytes(info.st_size))
                   : failed("cannot be mapped into memory");
    }
  }
  close(fd);
  if (!status.ok()) return status.error();
  return MappedFile(path,
                    {static_cast<const std::uint8_t*>(address), static_cast<size_t>(info.st_size)});
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

void PrefetchPages(std::span<const std::uint8_t> range) {
  Advise(PagesTouched(range), MADV_WILLNEED);
}

void ReleasePages(std::span<const std::uint8_t> range) {
  Advise(PagesInside(range), MADV_DONTNEED);
}

}  // namespace tonnage
