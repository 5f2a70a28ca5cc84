// JSON headers read as a stream of events: no tree is built, so a header of any size costs only
// what its reader keeps, and a key that stands twice is seen twice. A reader derives from
// JsonEvents and overrides the events it expects; every other event is an error that says where it
// happened.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tonnage {

class JsonEvents : public nlohmann::json_sax<Json> {
 public:
  // Feeds `text` to this reader, which can do so once.
  Status Read(std::string_view text);

 protected:
  // What is being read just now, for error messages: "tensor `x`, `shape`".
  virtual std::string Where() const = 0;
  // Records the error and stops the parser: `return Fail(Unreadable(...))`.
  bool Fail(Error error);

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { return Unexpected("a negative number"); }
  bool number_unsigned(std::uint64_t) override { return Unexpected("a number"); }
  bool number_float(double, const std::string&) override {
    return Unexpected("a number that is not whole, or too large");
  }
  bool string(std::string&) override { return Unexpected("a string"); }
  bool binary(Json::binary_t&) override { return Unexpected("binary data"); }
  bool start_object(size_t) override { return Unexpected("an object"); }
  bool key(std::string&) override { return Unexpected("a key"); }
  bool end_object() override { return Unexpected("the end of an object"); }
  bool start_array(size_t) override { return Unexpected("an array"); }
  bool end_array() override { return Unexpected("the end of an array"); }
  bool parse_error(size_t position, const std::string& token,
                   const Json::exception& error) override;

  bool Unexpected(std::string_view what);

 private:
  std::optional<Error> error_;
};

}  // namespace tonnage
