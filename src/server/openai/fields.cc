#include "server/openai/fields.h"

#include <utility>

namespace tonnage::openai {
namespace {

// Enough of a value to recognize it by.
std::string Excerpt(const Json& value) {
  constexpr std::size_t kLongest = 40;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  if (!value.is_string()) return DumpJson(value);
  const std::string& text = value.get_ref<const std::string&>();
  return text.size() <= kLongest ? DumpJson(value) : DumpJson(text.substr(0, kLongest)) + "...";
}

}  // namespace

Error WrongValue(const std::string& path, std::string_view wanted, const Json& value) {
  return InvalidArgument("`{}` must be {}, not {}", path, wanted, Excerpt(value)).About(path);
}

Fields::Fields(const Json& object, std::string path)
    : object_(&object), path_(std::move(path)), known_(object.size()) {}

Result<Fields> Fields::Of(const Json& value, std::string path) {
  if (!value.is_object()) return WrongValue(path, "an object", value);
  return Fields(value, std::move(path));
}

const Json* Fields::Find(std::string_view name) {
  const auto& members = Members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].first != name) continue;
    known_[i] = true;
    return members[i].second.is_null() ? nullptr : &members[i].second;
  }
  return nullptr;
}

Result<const Json*> Fields::Required(std::string_view name) {
  if (const Json* value = Find(name)) return value;
  const std::string path = Path(name);
  return InvalidArgument("`{}` is missing", path).About(path);
}

Result<std::optional<double>> Fields::Number(std::string_view name, double low, double high) {
  const Json* value = Find(name);
  if (value == nullptr) return std::optional<double>();
  // Written so that NaN is out of every range.
  if (!value->is_number() || !(value->get<double>() >= low && value->get<double>() <= high)) {
    return WrongValue(Path(name), fmt::format("a number from {} to {}", low, high), *value);
  }
  return std::optional<double>(value->get<double>());
}

Result<std::optional<std::int64_t>> Fields::Whole(std::string_view name, std::int64_t low,
                                                  std::int64_t high) {
  const Json* value = Find(name);
  if (value == nullptr) return std::optional<std::int64_t>();
  const Result<std::int64_t> whole = JsonInt(*object_, name, 0);
  if (!whole.ok() || *whole < low || *whole > high) {
    const std::string wanted = high == INT64_MAX
                                   ? fmt::format("a whole number, {} or more", low)
                                   : fmt::format("a whole number from {} to {}", low, high);
    return WrongValue(Path(name), wanted, *value);
  }
  return std::optional<std::int64_t>(*whole);
}

Result<bool> Fields::Flag(std::string_view name, bool fallback) {
  const Json* value = Find(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return WrongValue(Path(name), "true or false", *value);
  return value->get<bool>();
}

Result<std::optional<std::string>> Fields::Text(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return WrongValue(Path(name), "a string", *value);
  return std::optional<std::string>(value->get<std::string>());
}

Result<std::string> Fields::RequiredText(std::string_view name) {
  ASSIGN_OR_RETURN(const Json* value, Required(name));
  if (!value->is_string()) return WrongValue(Path(name), "a string", *value);
  return value->get<std::string>();
}

std::string Fields::Path(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Fields::AppendUnknown(std::vector<std::string>& paths) const {
  const auto& members = Members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!known_[i]) paths.push_back(Path(members[i].first));
  }
}

}  // namespace tonnage::openai
