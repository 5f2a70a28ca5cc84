#include "models/config_reader.h"

#include <utility>

namespace tonnage {

void ConfigReader::Fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

template <typename T>
T ConfigReader::Take(Result<T> result, T harmless) {
  if (result.ok()) return std::move(result).value();
  Fail(result.error());
  return harmless;
}

template <typename T>
T ConfigReader::Within(std::string_view key, T value, Range<T> range) {
  if (value >= range.min && value <= range.max) return value;  // false for NaN
  Fail(Unreadable("`{}` is {}; it must be from {} to {}", key, value, range.min, range.max));
  return range.min;
}

void ConfigReader::Require(std::string_view key) {
  if (!Has(key)) Fail(Unreadable("`{}` is missing", key));
}

std::int64_t ConfigReader::Int(std::string_view key, Range<std::int64_t> range) {
  Require(key);
  return IntOr(key, range.min, range);
}

std::int64_t ConfigReader::IntOr(std::string_view key, std::int64_t fallback,
                                 Range<std::int64_t> range) {
  return Within(key, Take(JsonInt(object_, key, fallback), range.min), range);
}

double ConfigReader::Number(std::string_view key, Range<double> range) {
  Require(key);
  return NumberOr(key, range.min, range);
}

double ConfigReader::NumberOr(std::string_view key, double fallback, Range<double> range) {
  return Within(key, Take(JsonDouble(object_, key, fallback), range.min), range);
}

bool ConfigReader::BoolOr(std::string_view key, bool fallback) {
  return Take(JsonBool(object_, key, fallback), false);
}

std::string ConfigReader::StringOr(std::string_view key, std::string fallback) {
  return Take(JsonString(object_, key, std::move(fallback)), std::string());
}

std::vector<Json> ConfigReader::Elements(std::string_view key) {
  const Json* list = JsonFind(object_, key);
  if (list == nullptr) return {};
  if (!list->is_array()) {
    Fail(Unreadable("`{}` must be a list, not {}", key, list->type_name()));
    return {};
  }
  std::vector<Json> elements;
  for (const Json& element : *list) {
    if (element.is_null()) Fail(Unreadable("`{}` has a null element", key));
    elements.push_back(Json{{std::string(key), element}});
  }
  return elements;
}

std::vector<std::int64_t> ConfigReader::Ints(std::string_view key, Range<std::int64_t> range) {
  std::vector<std::int64_t> values;
  for (const Json& element : Elements(key)) {
    values.push_back(Within(key, Take(JsonInt(element, key, range.min), range.min), range));
  }
  return values;
}

std::vector<double> ConfigReader::Numbers(std::string_view key, Range<double> range) {
  std::vector<double> values;
  for (const Json& element : Elements(key)) {
    values.push_back(Within(key, Take(JsonDouble(element, key, range.min), range.min), range));
  }
  return values;
}

std::vector<std::string> ConfigReader::Strings(std::string_view key) {
  std::vector<std::string> values;
  for (const Json& element : Elements(key)) {
    values.push_back(Take(JsonString(element, key, ""), std::string()));
  }
  return values;
}

}  // namespace tonnage
