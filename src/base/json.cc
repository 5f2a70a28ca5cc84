#include "base/json.h"

#include <cmath>

namespace tonnage {
namespace {

// Builds the value through nlohmann's DOM parser, refusing depth beyond the bound before it can
// cost stack.
class DepthGuard {
 public:
  explicit DepthGuard(int max_depth) : max_depth_(max_depth) {}
  bool operator()(int depth, Json::parse_event_t event, Json&) {
    if ((event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) &&
        depth >= max_depth_) {
      exceeded_ = true;
    }
    return !exceeded_;
  }
  bool exceeded() const { return exceeded_; }

 private:
  int max_depth_;
  bool exceeded_ = false;
};

Error WrongType(std::string_view key, std::string_view wanted, const Json& value) {
  return Unreadable("`{}` must be {}, not {}", key, wanted, value.type_name());
}

}  // namespace

Result<Json> ParseJson(std::string_view text, int max_depth) {
  DepthGuard guard(max_depth);
  try {
    Json value = Json::parse(text.begin(), text.end(), std::ref(guard));
    if (guard.exceeded()) return Unreadable("JSON nested deeper than {} levels", max_depth);
    return value;
  } catch (const Json::exception& e) {
    // The parser repeats the token that it stumbled over, however long that is.
    return Unreadable("malformed JSON: {}", std::string_view(e.what()).substr(0, 300));
  }
}

const Json* JsonFind(const Json& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  auto it = value.find(key);
  return it == value.end() || it->is_null() ? nullptr : &*it;
}

Result<std::int64_t> JsonInt(const Json& object, std::string_view key, std::int64_t fallback) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr) return fallback;
  if (value->is_number_unsigned()) {
    const auto number = value->get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX))
      return Unreadable("`{}` is out of range", key);
    return static_cast<std::int64_t>(number);
  }
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (value->is_number_float()) {  // some writers spell whole numbers 1e6 or 4.0
    const double number = value->get<double>();
    if (std::nearbyint(number) == number && std::fabs(number) < 9e15) {
      return static_cast<std::int64_t>(number);
    }
  }
  return WrongType(key, "a whole number", *value);
}

Result<std::int64_t> JsonRequiredInt(const Json& object, std::string_view key) {
  if (JsonFind(object, key) == nullptr) return Unreadable("`{}` is missing", key);
  return JsonInt(object, key, 0);
}

Result<double> JsonDouble(const Json& object, std::string_view key, double fallback) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) return WrongType(key, "a number", *value);
  return value->get<double>();
}

Result<bool> JsonBool(const Json& object, std::string_view key, bool fallback) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return WrongType(key, "true or false", *value);
  return value->get<bool>();
}

Result<std::string> JsonString(const Json& object, std::string_view key, std::string fallback) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) return WrongType(key, "a string", *value);
  return value->get<std::string>();
}

Result<std::vector<std::int32_t>> IdsFromJson(const Json& value) {
  if (!value.is_array())
    return InvalidArgument("an array of token ids is wanted, not {}", value.type_name());
  std::vector<std::int32_t> ids;
  ids.reserve(value.size());
  for (const Json& id : value) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > INT32_MAX) {
      return InvalidArgument("`{}` at place {} is not a token id", DumpJson(id), ids.size());
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tonnage
