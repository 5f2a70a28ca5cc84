// Python's operators on a template's values.
#pragma once

#include <cstdint>
#include <optional>

#include "chat/ast.h"
#include "chat/renderer.h"

namespace tonnage::chat {

enum class Truth : std::uint8_t { kFalse, kTrue, kFailed };
inline Truth ToTruth(bool b) { return b ? Truth::kTrue : Truth::kFalse; }

bool IsTrue(const Value& value);
Truth Equal(Renderer& renderer, const Value& a, const Value& b);
// == != < <= > >= in, not in
Truth Compare(Renderer& renderer, Operator op, const Value& a, const Value& b);
Truth Contains(Renderer& renderer, const Value& container, const Value& item);

// + - * / // % **
Value Arithmetic(Renderer& renderer, Operator op, const Value& a, const Value& b);
// unary + and -
Value Sign(Renderer& renderer, Operator op, const Value& value);

// len(value); nothing, and failed, for what has none.
std::optional<std::int64_t> Length(Renderer& renderer, const Value& value);
bool HasLength(const Value& value);

}  // namespace tonnage::chat
