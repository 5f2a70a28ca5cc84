// Result<T>: a value or an Error. Expected failure travels as a value, with a code that maps to an
// exit code and an HTTP status in one table (base/result.cc), and a message that tells the reader
// what to do.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace tonnage {

enum class Code {
  kInvalidArgument,  // the caller's input is wrong: a bad option, a malformed request
  kTooLong,          // prompt and answer exceed the context
  kUnreadable,       // a model or file is missing, cut short, malformed
  kUnsupported,      // well formed, but asks for something that we do not have
  kRefused,          // the quote does not fit the budget
  kBusy,             // out of queue places or slots for now
  kUnavailable,      // a device, a hub or a runner cannot be reached
  kCancelled,        // the caller asked us to stop
  kInternal,         // a fault of ours that could be contained
};

// The process exit code of an error, as `tonnage --help` documents it.
int ExitCode(Code code);
// The HTTP status of an error.
int HttpStatus(Code code);
std::string_view CodeName(Code code);

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same error with `where` and ": " put before the message.
  Error In(std::string_view where) const {
    return Error(code_, fmt::format("{}: {}", where, message_)).About(field_);
  }

  // The field of the caller's input that is wrong, where it is one: protocols and forms point at
  // it.
  const std::string& field() const { return field_; }
  Error About(std::string field) const {
    Error error = *this;
    error.field_ = std::move(field);
    return error;
  }

 private:
  Code code_;
  std::string message_;
  std::string field_;
};

// Errors with fmt's formatting: return Unreadable("{}: cut short at byte {}", path, offset);
#define TONNAGE_ERROR_FACTORY(name)                                           \
  template <typename... Args>                                                 \
  Error name(fmt::format_string<Args...> format, Args&&... args) {            \
    return {Code::k##name, fmt::format(format, std::forward<Args>(args)...)}; \
  }
TONNAGE_ERROR_FACTORY(InvalidArgument)
TONNAGE_ERROR_FACTORY(TooLong)
TONNAGE_ERROR_FACTORY(Unreadable)
TONNAGE_ERROR_FACTORY(Unsupported)
TONNAGE_ERROR_FACTORY(Refused)
TONNAGE_ERROR_FACTORY(Busy)
TONNAGE_ERROR_FACTORY(Unavailable)
TONNAGE_ERROR_FACTORY(Cancelled)
TONNAGE_ERROR_FACTORY(Internal)
#undef TONNAGE_ERROR_FACTORY

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok()) << error().message();
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok()) << error().message();
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok()) << error().message();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { CHECK(ok()) << error().message(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace tonnage

#define TONNAGE_CONCAT_INNER(a, b) a##b
#define TONNAGE_CONCAT(a, b) TONNAGE_CONCAT_INNER(a, b)

// RETURN_IF_ERROR(expr): returns the error of a Result from this function.
#define RETURN_IF_ERROR(expr)                   \
  do {                                          \
    if (auto result_ = (expr); !result_.ok()) { \
      return result_.error();                   \
    }                                           \
  } while (false)

// ASSIGN_OR_RETURN(auto x, expr): x = the value, or returns the error.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_INNER(TONNAGE_CONCAT(result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                           \
  if (!result.ok()) return result.error();        \
  lhs = std::move(result).value()
