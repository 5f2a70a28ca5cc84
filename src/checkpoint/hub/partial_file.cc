#include "checkpoint/hub/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

Error Failed(const fs::path& path, std::string_view what) {
  const int reason = errno;
  if (reason == ENOSPC) return Refused("{}: the disk is full", path.string());
  return Unavailable("{}: {}: {}", path.string(), what, std::strerror(reason));
}

Status WriteAll(int fd, const char* data, size_t size, Bytes offset, const fs::path& path) {
  while (size > 0) {
    const ssize_t written = pwrite(fd, data, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path, "cannot be written");
    data += written;
    size -= static_cast<size_t>(written);
    offset += written;
  }
  return {};
}

}  // namespace

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      blocks_(std::move(other.blocks_)),
      data_(std::exchange(other.data_, -1)),
      journal_(std::exchange(other.journal_, -1)) {}

PartialFile::~PartialFile() { Close(); }

void PartialFile::Close() {
  for (int* fd : {&data_, &journal_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

fs::path PartialFile::With(const char* suffix) const { return path_.string() + suffix; }

Blocks PartialFile::Done(const fs::path& folder, const File& file) {
  const std::string path = (folder / file.digest.hex).string();
  std::error_code error;
  const auto size = fs::file_size(path + ".part", error);
  if (error || static_cast<Bytes>(size) != file.bytes) return {file.bytes, kBlockBytes};
  std::ifstream journal(path + ".blocks", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(journal), {}};
  return Blocks::FromJournal(text, file.bytes, kBlockBytes);
}

Result<PartialFile> PartialFile::Open(const fs::path& folder, const File& file) {
  PartialFile partial(folder / file.digest.hex, file, Done(folder, file));
  RETURN_IF_ERROR(partial.OpenFiles(partial.blocks_.done_bytes() == 0));
  return partial;
}

Status PartialFile::Begin() {
  blocks_ = Blocks(file_.bytes, kBlockBytes);
  return OpenFiles(true);
}

// The journal is written anew each time: a line that was cut must not be appended to.
Status PartialFile::OpenFiles(bool fresh) {
  Close();
  std::string journal = blocks_.JournalHead();
  for (std::int64_t i = 0; i < blocks_.count(); ++i) {
    if (blocks_.done(i)) journal += Blocks::JournalLine(i);
  }
  const fs::path replacement = With(".blocks.new");
  journal_ = open(replacement.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (journal_ < 0) return Failed(replacement, "cannot be created");
  RETURN_IF_ERROR(WriteAll(journal_, journal.data(), journal.size(), 0, replacement));
  std::error_code error;
  fs::rename(replacement, With(".blocks"), error);
  if (error) return Unavailable("{}: {}", With(".blocks").string(), error.message());
  data_ = open(With(".part").c_str(), O_WRONLY | O_CREAT | (fresh ? O_TRUNC : 0) | O_CLOEXEC, 0644);
  if (data_ < 0) return Failed(With(".part"), "cannot be created");
  if (ftruncate(data_, file_.bytes) != 0) return Failed(With(".part"), "cannot be made that long");
  return {};
}

Status PartialFile::Write(Bytes offset, std::span<const std::uint8_t> data) {
  return WriteAll(data_, reinterpret_cast<const char*>(data.data()), data.size(), offset,
                  With(".part"));
}

Status PartialFile::MarkDone(std::int64_t block) {
  const std::string line = Blocks::JournalLine(block);
  RETURN_IF_ERROR(WriteAll(journal_, line.data(), line.size(), 0, With(".blocks")));  // appends
  blocks_.MarkDone(block);
  return {};
}

Result<bool> PartialFile::Finish() {
  CHECK(blocks_.all_done());
  Close();
  ASSIGN_OR_RETURN(const Digest digest, FileDigest(With(".part"), file_.digest.kind));
  std::error_code error;
  const bool right = digest == file_.digest;
  if (right) {
    fs::rename(With(".part"), path_, error);
  } else {
    fs::remove(With(".part"), error);
  }
  if (!error) fs::remove(With(".blocks"), error);
  if (error) return Unavailable("{}: {}", path_.string(), error.message());
  return right;
}

}  // namespace tonnage::hub
