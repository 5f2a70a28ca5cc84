// The methods of Python's types that a template can call. A method without a function is one that
// the immutable sandbox refuses (list.append, dict.update); templates see it as undefined.
#pragma once

#include <span>
#include <string_view>

#include "chat/value.h"

namespace tonnage::chat {

// nullptr when a value of this kind has no method of the name.
const Method* FindMethod(Kind kind, std::string_view name);

// Sorted by name.
std::span<const Method> StringMethods();
std::span<const Method> ListMethods();
std::span<const Method> TupleMethods();
std::span<const Method> DictMethods();
std::span<const Method> RangeMethods();
std::span<const Method> IntegerMethods();
std::span<const Method> FloatMethods();
std::span<const Method> CyclerMethods();

}  // namespace tonnage::chat
