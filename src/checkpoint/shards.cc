#include "checkpoint/shards.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include "checkpoint/json_events.h"
#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".safetensors";

// {"metadata": {...}, "weight_map": {"tensor": "file"}}; what else the top level holds is skipped.
class IndexReader final : public JsonEvents {
 public:
  ShardIndex index;
  bool seen_map = false;

 private:
  std::string Where() const override {
    return in_map_ && !key_.empty() ? fmt::format("weight_map, tensor {}", Quoted(key_))
                                    : "safetensors index";
  }
  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (seen_map) return Fail(Unreadable("safetensors index: `weight_map` stands twice"));
      in_map_ = seen_map = true;
      key_.clear();
    } else if (in_map_) {
      return Unexpected("an object");
    }
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 0) return Unexpected("an array");
    ++depth_;
    return Skipped("an array");
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& key) override {
    if (depth_ == 1 || in_map_) key_ = key;
    return true;
  }
  bool string(std::string& file) override {
    if (!in_map_) return Skipped("a string");
    if (file.empty() || file.find('/') != std::string::npos || file == "." || file == "..") {
      return Fail(Unreadable("tensor {} is mapped to {}, which is no name of a file in this folder",
                             Quoted(key_), Quoted(file)));
    }
    const auto [it, inserted] = index.emplace(key_, file);
    if (inserted) return true;
    return Fail(Unreadable("tensor {} is mapped twice, to {} and to {}", Quoted(key_),
                           Quoted(it->second), Quoted(file)));
  }
  bool null() override { return Skipped("null"); }
  bool boolean(bool) override { return Skipped("a boolean"); }
  bool number_integer(std::int64_t) override { return Skipped("a number"); }
  bool number_unsigned(std::uint64_t) override { return Skipped("a number"); }
  bool number_float(double, const std::string&) override { return Skipped("a number"); }

  bool Skipped(std::string_view what) { return in_map_ || depth_ == 0 ? Unexpected(what) : true; }

  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

Status CheckNumbering(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto shard = ParseNumberedName(name, kSuffix);
    if (!shard) continue;
    for (int i = 1; i <= shard->count; ++i) {
      const std::string wanted = shard->Sibling(i);
      if (!std::binary_search(names.begin(), names.end(), wanted)) {
        return Unreadable("{} is here, but {} is missing", Quoted(name), Quoted(wanted));
      }
    }
  }
  return {};
}

}  // namespace

std::string NumberedName::Sibling(int other) const {
  return fmt::format("{}{:05}-of-{:05}{}", prefix, other, count, suffix);
}

std::optional<NumberedName> ParseNumberedName(std::string_view name, std::string_view suffix) {
  constexpr size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  if (name.size() < 2 * kDigits + kOf.size()) return std::nullopt;
  const size_t begin = name.size() - 2 * kDigits - kOf.size();
  if (name.substr(begin + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto number = [&](size_t at) -> std::optional<int> {
    int value = 0;
    const char* end = name.data() + at + kDigits;
    const auto [stop, error] = std::from_chars(name.data() + at, end, value);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
  };
  const auto first = number(begin), second = number(begin + kDigits + kOf.size());
  if (!first || !second) return std::nullopt;
  return NumberedName{std::string(name.substr(0, begin)), *first, *second, suffix};
}

Result<ShardIndex> ParseShardIndex(std::string_view json) {
  IndexReader reader;
  RETURN_IF_ERROR(reader.Read(json));
  if (!reader.seen_map) return Unreadable("safetensors index: `weight_map` is missing");
  return std::move(reader.index);
}

Result<std::vector<std::string>> ListShards(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("model") && name.ends_with(kSuffix)) names.push_back(name);
  }
  if (error) return Unreadable("cannot be listed: {}", error.message());
  if (names.empty()) return Unreadable("holds no model*.safetensors");
  std::sort(names.begin(), names.end());
  RETURN_IF_ERROR(CheckNumbering(names));
  return names;
}

}  // namespace tonnage
