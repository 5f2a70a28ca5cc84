// The fields of an object in a request, read with their types and ranges. Every error is about the
// field's path. What was never asked for is what we do not know. Borrows the object; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tonnage::openai {

class Fields {
 public:
  // `path` is of the object itself; empty for the body.
  Fields(const Json& object, std::string path);
  // The same of a value that must be an object.
  static Result<Fields> Of(const Json& value, std::string path);

  // The value, or nullptr where it is absent or null.
  const Json* Find(std::string_view name);
  // The same, where it must be there.
  Result<const Json*> Required(std::string_view name);

  Result<std::optional<double>> Number(std::string_view name, double low, double high);
  Result<std::optional<std::int64_t>> Whole(std::string_view name, std::int64_t low,
                                            std::int64_t high);
  Result<bool> Flag(std::string_view name, bool fallback);
  Result<std::optional<std::string>> Text(std::string_view name);
  Result<std::string> RequiredText(std::string_view name);

  // "messages[2].content".
  std::string Path(std::string_view name) const;
  // Appends the paths of the fields that were never asked for.
  void AppendUnknown(std::vector<std::string>& paths) const;

 private:
  const Json::object_t::Container& Members() const {
    return object_->get_ref<const Json::object_t&>();
  }

  const Json* object_;
  std::string path_;
  std::vector<bool> known_;  // of each member
};

// "`stop[1]` must be a string, not 7", about that field.
Error WrongValue(const std::string& path, std::string_view wanted, const Json& value);

}  // namespace tonnage::openai
