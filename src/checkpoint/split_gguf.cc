#include "checkpoint/split_gguf.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "checkpoint/quoted.h"
#include "checkpoint/shards.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostParts = 99999;  // what the names have digits for

}  // namespace

Result<std::optional<SplitPart>> SplitPartOf(const Gguf& gguf) {
  ASSIGN_OR_RETURN(const auto count, gguf.Get<std::int64_t>("split.count"));
  if (count.value_or(1) <= 1) return std::optional<SplitPart>();
  if (*count > kMostParts) return Unreadable("metadata `split.count` is {}", *count);
  ASSIGN_OR_RETURN(const std::int64_t index, gguf.Require<std::int64_t>("split.no"));
  if (index < 0 || index >= *count) {
    return Unreadable("metadata `split.no` is {}, but there are {} parts", index, *count);
  }
  return std::optional(SplitPart{index, *count});
}

Result<std::vector<std::string>> SplitPaths(const std::string& path, const SplitPart& part) {
  const fs::path file(path);
  const auto name = ParseNumberedName(file.filename().string(), ".gguf");
  if (!name || name->number != part.index + 1 || name->count != part.count) {
    return Unreadable(
        "{}: is part {} of {} of a split model, and must be named so: NAME-{:05}-of-{:05}.gguf",
        path, part.index + 1, part.count, part.index + 1, part.count);
  }
  std::vector<std::string> paths, missing;
  for (int i = 1; i <= name->count; ++i) {
    const fs::path sibling = file.parent_path() / name->Sibling(i);
    std::error_code error;
    if (!fs::exists(sibling, error)) missing.push_back(Quoted(sibling.filename().string()));
    paths.push_back(sibling.string());
  }
  if (missing.empty()) return paths;
  constexpr size_t kShown = 4;
  const std::string more =
      missing.size() > kShown ? fmt::format(" and {} more", missing.size() - kShown) : "";
  missing.resize(std::min(missing.size(), kShown));
  return Unreadable("{}: is part {} of {}, but {}{} {} missing beside it", path, part.index + 1,
                    part.count, fmt::join(missing, ", "), more,
                    missing.size() == 1 && more.empty() ? "is" : "are");
}

Status CheckSplit(std::span<const Gguf> parts, std::span<const std::string> paths) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Result<std::optional<SplitPart>> part = SplitPartOf(parts[i]);
    if (!part.ok()) return part.error().In(paths[i]);
    const auto count = static_cast<std::int64_t>(parts.size());
    const auto index = static_cast<std::int64_t>(i);
    if (!*part || (*part)->index != index || (*part)->count != count) {
      return Unreadable("{}: its metadata says that it is not part {} of {}", paths[i], i + 1,
                        count);
    }
    for (const GgufTensor& tensor : parts[i].tensors()) names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return Unreadable("{}: tensor {} is in two of the parts", paths[0], Quoted(*twice));
  }
  const auto told = parts[0].Get<std::int64_t>("split.tensors.count");
  if (!told.ok()) return told.error().In(paths[0]);
  if (*told && **told != static_cast<std::int64_t>(names.size())) {
    return Unreadable("{}: tells of {} tensors, but its {} parts have {}", paths[0], **told,
                      parts.size(), names.size());
  }
  return {};
}

}  // namespace tonnage
