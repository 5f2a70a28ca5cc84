// Fetches files into a folder, over several connections and each large file in several pieces at a
// time. What a process that died left there counts, as far as its journals vouch for it.
#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/hub/hub.h"
#include "checkpoint/hub/listing.h"

namespace tonnage::hub {

struct DownloadOptions {
  int connections = 8;
  // Called on the caller's thread, several times a second.
  std::function<void(Bytes done, Bytes total)> progress;
};

// Leaves each of `files` as `folder`/<its digest>, with that digest. Content that arrives with
// another is thrown away and fetched once more; then it is an error.
Status DownloadFiles(Hub& hub, const std::string& repository, const std::string& commit,
                     std::span<const File> files, const std::filesystem::path& folder,
                     const DownloadOptions& options);

// How many bytes of `files` a download into `folder` would still write.
Bytes MissingBytes(std::span<const File> files, const std::filesystem::path& folder);

}  // namespace tonnage::hub
