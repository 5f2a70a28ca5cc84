// JSON from outside, read safely. Objects keep their order. Nothing here throws.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t depth = 200;          // of nested arrays and objects
  std::size_t values = 1ull << 48;  // in all; each takes up to a hundred bytes of memory
};

// Parses `text` in linear time, but for the sorting of an object's keys; of a repeated key the last
// value counts. What is malformed or beyond the limits is an error that gives the byte.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Typed access for configuration: the value of `key`, or the fallback when it is absent or null;
// another type or a number out of range is an error that names the key.
Result<std::int64_t> JsonInt(const Json& object, std::string_view key, std::int64_t fallback);
Result<double> JsonDouble(const Json& object, std::string_view key, double fallback);
Result<bool> JsonBool(const Json& object, std::string_view key, bool fallback);
Result<std::string> JsonString(const Json& object, std::string_view key, std::string fallback);

// The same, where the key must be there.
Result<std::int64_t> JsonRequiredInt(const Json& object, std::string_view key);

// An array of token ids: whole numbers of 0 to 2^31 - 1.
Result<std::vector<std::int32_t>> IdsFromJson(const Json& value);

// The member, or nullptr when `value` is no object, lacks it, or holds null there.
const Json* JsonFind(const Json& value, std::string_view key);

// One line, every byte valid UTF-8 (bad bytes become U+FFFD), so that dumping cannot fail.
std::string DumpJson(const Json& value);

}  // namespace tonnage
