// A GGUF model split into several files, `name-00001-of-00003.gguf` and so on. The first has the
// metadata; all have tensors, and keys that say which part of how many they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/gguf.h"

namespace tonnage {

struct SplitPart {
  std::int64_t index = 0;  // from 0
  std::int64_t count = 0;
};
// Which part a file says that it is, or nothing for a whole model.
Result<std::optional<SplitPart>> SplitPartOf(const Gguf& gguf);

// The paths of all parts in their order, given one of them and what it says. Unreadable, naming
// the missing one, unless all are there.
Result<std::vector<std::string>> SplitPaths(const std::string& path, const SplitPart& part);

// Whether the parts are those of one model: each the part that its name says, all tensors there,
// none twice.
Status CheckSplit(std::span<const Gguf> parts, std::span<const std::string> paths);

}  // namespace tonnage
