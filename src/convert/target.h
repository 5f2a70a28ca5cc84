// A file or folder on its way in: written beside its place under another name, and renamed when it
// is whole. What is left of a run that failed or was killed is removed by the destructor or by the
// next run.
#pragma once

#include <filesystem>

#include "base/bytes.h"
#include "base/result.h"

namespace tonnage {

class Target {
 public:
  // InvalidArgument if `place` is there already, unless `replace`; Unavailable, with the numbers,
  // unless the disk has room for `bytes`.
  static Result<Target> Begin(std::filesystem::path place, bool replace, Bytes bytes);
  Target(Target&& other) noexcept;
  Target& operator=(Target&&) = delete;
  ~Target();

  // Where to write: a path that is free.
  const std::filesystem::path& path() const { return path_; }
  // What was written takes its place.
  Status Finish();

 private:
  explicit Target(std::filesystem::path place);

  std::filesystem::path place_;
  std::filesystem::path path_;
};

}  // namespace tonnage
