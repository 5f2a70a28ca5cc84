// Binding a call's arguments to a builtin's parameters, with Python's complaints.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

// Fills `values`, one a name, from the arguments; missing where an optional one is not given.
// False, and failed, when the arguments do not fit. The first `positional_only` names cannot be
// given as keywords.
bool Bind(Renderer& renderer, const Arguments& arguments, std::string_view function,
          std::span<const std::string_view> names, std::size_t required,
          std::size_t positional_only, Value* values);

// The parameters of one builtin, bound.
template <std::size_t N>
class Parameters {
 public:
  bool Bind(Renderer& renderer, const Arguments& arguments, std::string_view function,
            const std::array<std::string_view, N>& names, std::size_t required = 0,
            std::size_t positional_only = 0) {
    return chat::Bind(renderer, arguments, function, names, required, positional_only,
                      values_.data());
  }
  const Value& operator[](std::size_t i) const { return values_[i]; }
  Value Or(std::size_t i, const Value& otherwise) const {
    return values_[i].is_missing() ? otherwise : values_[i];
  }

 private:
  std::array<Value, N> values_;
};

// For builtins that take none.
bool BindNone(Renderer& renderer, const Arguments& arguments, std::string_view function);

// An integer argument (a bool too); nothing, and failed, for another type.
std::optional<std::int64_t> IntegerArgument(Renderer& renderer, const Value& value,
                                            std::string_view function);
// A string argument; false, and failed, for another type.
bool TextArgument(Renderer& renderer, const Value& value, std::string_view function,
                  std::string_view* text);

}  // namespace tonnage::chat
