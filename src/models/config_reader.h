// Reads a config.json key by key and keeps the first thing that is wrong, so that a model lists its
// fields as plainly as the config does and asks once whether all of them were good:
//
//   ConfigReader r(config);
//   c.layers = r.Int("num_hidden_layers", {1, 1024});
//   RETURN_IF_ERROR(r.status());
//
// After a failure every read gives a value within its range. Borrows the JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tonnage {

template <typename T>
struct Range {
  T min;
  T max;
};

class ConfigReader {
 public:
  explicit ConfigReader(const Json& object) : object_(object) {}

  // Null counts as absent.
  bool Has(std::string_view key) const { return JsonFind(object_, key) != nullptr; }

  std::int64_t Int(std::string_view key, Range<std::int64_t> range);  // must be there
  std::int64_t IntOr(std::string_view key, std::int64_t fallback, Range<std::int64_t> range);
  double Number(std::string_view key, Range<double> range);  // must be there
  double NumberOr(std::string_view key, double fallback, Range<double> range);
  bool BoolOr(std::string_view key, bool fallback);
  std::string StringOr(std::string_view key, std::string fallback);
  // Lists; empty when absent.
  std::vector<std::int64_t> Ints(std::string_view key, Range<std::int64_t> range);
  std::vector<double> Numbers(std::string_view key, Range<double> range);
  std::vector<std::string> Strings(std::string_view key);

  void Fail(Error error);
  Status status() const { return status_; }

 private:
  // The value, or a harmless one after noting the error.
  template <typename T>
  T Take(Result<T> result, T harmless);
  template <typename T>
  T Within(std::string_view key, T value, Range<T> range);
  // The elements of a list as objects {key: element}, so that they are read like members.
  std::vector<Json> Elements(std::string_view key);
  void Require(std::string_view key);

  const Json& object_;
  Status status_;
};

}  // namespace tonnage
