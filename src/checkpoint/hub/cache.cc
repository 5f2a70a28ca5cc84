#include "checkpoint/hub/cache.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

// A snapshot's file as its link describes it; nothing where it is no link to a blob, since then
// nobody says what its content should be.
std::optional<File> DescribeLink(const fs::path& path, const fs::path& snapshot) {
  std::error_code error;
  const std::string blob = fs::read_symlink(path, error).filename().string();
  if (error) return std::nullopt;
  File file{.path = path.lexically_relative(snapshot).generic_string()};
  file.bytes = static_cast<Bytes>(fs::file_size(path, error));
  const bool sha256 = IsHex(blob, 64);
  if (error || (!sha256 && !IsHex(blob, 40))) return std::nullopt;
  file.digest = {sha256 ? Digest::Kind::kSha256 : Digest::Kind::kGitSha1, blob};
  return file;
}

}  // namespace

fs::path Cache::Folder(const std::string& repository) const {
  const size_t slash = repository.find('/');
  return root_ / ("models--" + repository.substr(0, slash) + "--" + repository.substr(slash + 1));
}

std::optional<fs::path> Cache::Find(const std::string& repository, const std::string& commit,
                                    const File& file) const {
  if (root_.empty()) return std::nullopt;
  const fs::path folder = Folder(repository);
  for (const fs::path& path :
       {folder / "blobs" / file.digest.hex, folder / "snapshots" / commit / file.path}) {
    std::error_code error;
    if (fs::is_regular_file(path, error) && !error &&
        static_cast<Bytes>(fs::file_size(path, error)) == file.bytes) {
      return path;
    }
  }
  return std::nullopt;
}

Result<Listing> Cache::List(const std::string& repository, const std::string& revision) const {
  const fs::path folder = Folder(repository);
  Listing listing{.commit = revision, .files = {}};
  if (!IsHex(revision, 40)) {
    listing.commit.clear();
    std::ifstream(folder / "refs" / revision) >> listing.commit;
  }
  const fs::path snapshot = folder / "snapshots" / listing.commit;
  std::error_code error;
  if (root_.empty() || !IsHex(listing.commit, 40) || !fs::is_directory(snapshot, error))
    return Unreadable("{} is not in the cache {}", repository, root_.string());
  for (fs::recursive_directory_iterator entry(snapshot, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (const auto file = DescribeLink(entry->path(), snapshot)) listing.files.push_back(*file);
  }
  if (error) return Unreadable("{}: {}", snapshot.string(), error.message());
  std::sort(listing.files.begin(), listing.files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return listing;
}

}  // namespace tonnage::hub
