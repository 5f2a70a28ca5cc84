// Digests of files, for checking what was downloaded.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace tonnage {

struct Digest {
  enum class Kind {
    kSha256,   // of the content
    kGitSha1,  // of the content as a git blob: "blob <size>\0" before it
  };
  Kind kind = Kind::kSha256;
  std::string hex;  // in lower case

  bool operator==(const Digest&) const = default;
};

Result<Digest> FileDigest(const std::filesystem::path& path, Digest::Kind kind);

// Lower-case hexadecimal, 64 characters.
Result<std::string> FileSha256(const std::filesystem::path& path);

}  // namespace tonnage
