#include "checkpoint/hub/pull.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "checkpoint/hub/select.h"

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

// A file that one process at a time holds; the kernel lets go of it when that process ends.
class FileLock {
 public:
  static Result<FileLock> Take(const fs::path& path, const std::string& what) {
    FileLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.fd_ < 0) return Unavailable("{}: {}", path.string(), std::strerror(errno));
    if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0)
      return Busy("another process is pulling {} just now", what);
    return lock;
  }
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// Gives the cache's content of `file` the name `to`, by link or by copy, unless it is not what it
// claims to be; whether it did.
using Bring = void (*)(const fs::path& from, const fs::path& to, std::error_code& error);
bool TakeFromCache(const Repository& repository, const File& file, const fs::path& to,
                   Bring bring) {
  std::error_code error;
  if (fs::exists(to, error)) return true;
  const auto cached =
      repository.cache().Find(repository.name().repository, repository.commit(), file);
  if (!cached) return false;
  const fs::path arriving = to.string() + ".cached";
  fs::remove(arriving, error);
  bring(*cached, arriving, error);
  if (error) return false;
  const auto digest = FileDigest(arriving, file.digest.kind);
  const bool right = digest.ok() && *digest == file.digest;
  if (right) fs::rename(arriving, to, error);
  if (!right || error) fs::remove(arriving, error);
  return right && !error;
}

void Link(const fs::path& from, const fs::path& to, std::error_code& error) {
  const fs::path content = fs::canonical(from, error);  // not the cache's own link to it
  if (!error) fs::create_hard_link(content, to, error);
}

void Copy(const fs::path& from, const fs::path& to, std::error_code& error) {
  fs::copy_file(from, to, error);
}

// Every file under its name in the model's folder.
Status Assemble(const Repository& repository, const fs::path& downloads, ModelStore& store) {
  const std::string name = repository.name().StoreName();
  ASSIGN_OR_RETURN(const fs::path folder, store.BeginAdd(name));
  for (const File& file : repository.files()) {
    const fs::path to = folder / LocalPath(file);
    const fs::path from = downloads / file.digest.hex;
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    fs::create_hard_link(from, to, error);
    if (error) {
      error.clear();
      fs::copy_file(from, to, error);  // a file system without links
    }
    if (error) return Unavailable("{}: {}", to.string(), error.message());
  }
  return store.FinishAdd(name);
}

}  // namespace

Status Pull(const Repository& repository, ModelStore& store, const DownloadOptions& options) {
  const std::string name = repository.name().StoreName();
  ASSIGN_OR_RETURN(const fs::path folder, store.DownloadFolder(name));
  ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(folder / "lock", name));
  if (store.Find(name).ok()) return {};  // somebody else's pull was faster
  for (const File& file : repository.files())
    TakeFromCache(repository, file, folder / file.digest.hex, Link);
  RETURN_IF_ERROR(store.CheckSpace(MissingBytes(repository.files(), folder)));
  for (const File& file : repository.files()) {
    const bool there = TakeFromCache(repository, file, folder / file.digest.hex, Copy);
    if (!there && repository.offline()) {
      return Unavailable("{}: {} is not in the cache, and the hub is not asked", name, file.path);
    }
  }
  RETURN_IF_ERROR(DownloadFiles(repository.hub(), repository.name().repository, repository.commit(),
                                repository.files(), folder, options));
  return Assemble(repository, folder, store);
}

}  // namespace tonnage::hub
