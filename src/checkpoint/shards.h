// The files of a model folder, and the index that tells which of them holds each tensor.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

// `model.safetensors.index.json`: the file (a plain name in the same folder) of each tensor.
using ShardIndex = std::map<std::string, std::string, std::less<>>;
Result<ShardIndex> ParseShardIndex(std::string_view json);

// The names of all `model*.safetensors` in the folder, sorted. A numbered set
// (`model-00001-of-00003.safetensors`) must be complete, and there must be at least one file.
Result<std::vector<std::string>> ListShards(const std::string& folder);

// One file of a numbered set: `model-00002-of-00003.gguf` with the suffix `.gguf`.
struct NumberedName {
  std::string prefix;  // "model-"
  int number = 0;      // from 1
  int count = 0;
  std::string_view suffix;

  // The name of another file of the set.
  std::string Sibling(int other) const;
};
std::optional<NumberedName> ParseNumberedName(std::string_view name, std::string_view suffix);

}  // namespace tonnage
