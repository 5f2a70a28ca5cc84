// The folder where Hugging Face's own client keeps what it fetched: models--org--name/ with refs/
// (a revision's commit), snapshots/<commit>/ (the files, as links) and blobs/ (their content, named
// by its digest). Read only. Nothing found here is believed before its digest was checked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "checkpoint/hub/listing.h"

namespace tonnage::hub {

class Cache {
 public:
  // `root` is empty where there is no cache.
  explicit Cache(std::filesystem::path root) : root_(std::move(root)) {}

  // A file that claims to be `file` and is as long.
  std::optional<std::filesystem::path> Find(const std::string& repository,
                                            const std::string& commit, const File& file) const;

  // What the cache has of a revision, for when the hub cannot be asked. It may be less than the
  // repository holds.
  Result<Listing> List(const std::string& repository, const std::string& revision) const;

 private:
  std::filesystem::path Folder(const std::string& repository) const;

  std::filesystem::path root_;
};

}  // namespace tonnage::hub
