#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace tonnage {
namespace {

// Builds the value from the inside out: an object is made when all its members are there, because a
// growing one of nlohmann's searches its members for every new key, and copies them when it moves.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(const JsonLimits& limits) : limits_(limits) {}

  Result<Json> Take() {
    if (error_) return *error_;
    return std::move(root_);
  }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(std::int64_t value) override { return Add(value); }
  bool number_unsigned(std::uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string&) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // no text has it
  bool start_object(std::size_t) override { return Open(); }
  bool start_array(std::size_t) override { return Open(); }
  bool key(std::string& key) override {
    open_.back().keys.push_back(std::move(key));
    return true;
  }
  bool end_object() override {
    Json object = MakeObject(open_.back());
    open_.pop_back();
    return Add(std::move(object));
  }
  bool end_array() override {
    Json array = std::move(open_.back().values);
    open_.pop_back();
    return Add(std::move(array));
  }
  // The parser's own message repeats the token that it stumbled over, however long that is.
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));  // its number of the error
    return Fail(Unreadable("malformed JSON: {}", what.substr(0, 300)));
  }

 private:
  struct Unfinished {
    std::vector<std::string> keys;  // of an object; none for an array
    std::vector<Json> values;
  };

  bool Open() {
    if (open_.size() >= limits_.depth) {
      return Fail(Unreadable("JSON nested deeper than {} levels", limits_.depth));
    }
    open_.emplace_back();
    return true;
  }

  bool Add(Json value) {
    if (++values_ > limits_.values) {
      return Fail(Unreadable("JSON of more than {} values", limits_.values));
    }
    (open_.empty() ? root_ : open_.back().values.emplace_back()) = std::move(value);
    return true;
  }

  // Of a repeated key, the last value in the first one's place.
  static Json MakeObject(Unfinished& open) {
    const std::size_t count = open.keys.size();
    std::vector<std::size_t> sorted(count);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
      const int order = open.keys[a].compare(open.keys[b]);
      return order != 0 ? order < 0 : a < b;
    });
    std::vector<bool> repeats(count);
    for (std::size_t i = 1, first = 0; i < count; ++i) {
      if (open.keys[sorted[i]] != open.keys[sorted[first]]) {
        first = i;
        continue;
      }
      open.values[sorted[first]] = std::move(open.values[sorted[i]]);
      repeats[sorted[i]] = true;
    }
    Json::object_t object;
    object.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (!repeats[i]) object.emplace_back(std::move(open.keys[i]), std::move(open.values[i]));
    }
    return object;
  }

  bool Fail(Error error) {
    error_ = std::move(error);
    return false;
  }

  const JsonLimits& limits_;
  std::vector<Unfinished> open_;
  std::size_t values_ = 0;
  Json root_;
  std::optional<Error> error_;
};

Error WrongType(std::string_view key, std::string_view wanted, const Json& value) {
  return Unreadable("`{}` must be {}, not {}", key, wanted, value.type_name());
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  TreeBuilder builder(limits);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.Take();
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
