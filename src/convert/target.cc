#include "convert/target.h"

#include <system_error>
#include <utility>

namespace tonnage {

namespace fs = std::filesystem;

Target::Target(fs::path place) : place_(std::move(place)) {
  path_ = place_.parent_path() / ("." + place_.filename().string() + ".partial");
}

Target::Target(Target&& other) noexcept
    : place_(std::move(other.place_)), path_(std::exchange(other.path_, {})) {}

Target::~Target() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

Result<Target> Target::Begin(fs::path place, bool replace, Bytes bytes) {
  std::error_code error;
  place = fs::absolute(place, error).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // a folder named with a slash behind it
  if (fs::exists(place, error) && !replace) {
    return InvalidArgument("{} is there already; --force replaces it", place.string());
  }
  fs::create_directories(place.parent_path(), error);
  if (error) return Unavailable("{}: {}", place.parent_path().string(), error.message());
  const fs::space_info space = fs::space(place.parent_path(), error);
  if (!error && space.available < static_cast<std::uintmax_t>(bytes)) {
    return Unavailable("{}: {} are needed, but the disk has {} left", place.parent_path().string(),
                       FormatBytes(bytes), FormatBytes(static_cast<Bytes>(space.available)));
  }
  Target target(std::move(place));
  fs::remove_all(target.path_, error);
  return target;
}

Status Target::Finish() {
  std::error_code error;
  fs::remove_all(place_, error);
  if (!error) fs::rename(path_, place_, error);
  if (error) return Unavailable("{}: {}", place_.string(), error.message());
  path_.clear();
  return {};
}

}  // namespace tonnage
