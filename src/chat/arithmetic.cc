#include <cmath>
#include <cstring>

#include "chat/markup.h"
#include "chat/number.h"
#include "chat/operators.h"
#include "chat/printf.h"

namespace tonnage::chat {
namespace {

std::string_view Spelling(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
    default:
      return "**";
  }
}

Value DivisionByZero(Renderer& renderer) { return renderer.Fail("division by zero"); }

Value Integer(Renderer& renderer, std::optional<std::int64_t> value) {
  if (value) return Value::Int(*value);
  return renderer.Fail("an integer does not fit in 64 bits");
}

// The quotient's floor, and what is left, with the sign of `b`.
struct Division {
  double quotient, remainder;
};
Division Divide(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1;
  return {whole, remainder};
}

Value IntegerArithmetic(Renderer& renderer, Operator op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Operator::kAdd:
      return Integer(renderer, AddIntegers(a, b));
    case Operator::kSubtract:
      return Integer(renderer, SubtractIntegers(a, b));
    case Operator::kMultiply:
      return Integer(renderer, MultiplyIntegers(a, b));
    case Operator::kDivide:
      if (b == 0) return DivisionByZero(renderer);
      return Value::Float(
          static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case Operator::kFloorDivide: {
      if (b == 0) return DivisionByZero(renderer);
      if (b == -1) return Integer(renderer, SubtractIntegers(0, a));
      return Value::Int(a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0));
    }
    case Operator::kModulo: {
      if (b == 0) return DivisionByZero(renderer);
      if (b == -1) return Value::Int(0);
      const std::int64_t rest = a % b;
      return Value::Int(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    default:
      if (b >= 0) return Integer(renderer, PowerIntegers(a, b));
      if (a == 0) return DivisionByZero(renderer);
      return Value::Float(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
}

Value FloatPower(Renderer& renderer, double a, double b) {
  if (a == 0 && b < 0) return DivisionByZero(renderer);
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    return renderer.Fail("complex numbers are not supported");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    return renderer.Fail("a power is too large for a float");
  }
  return Value::Float(result);
}

Value FloatArithmetic(Renderer& renderer, Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value::Float(a + b);
    case Operator::kSubtract:
      return Value::Float(a - b);
    case Operator::kMultiply:
      return Value::Float(a * b);
    case Operator::kDivide:
      return b == 0 ? DivisionByZero(renderer) : Value::Float(a / b);
    case Operator::kFloorDivide:
      return b == 0 ? DivisionByZero(renderer) : Value::Float(Divide(a, b).quotient);
    case Operator::kModulo:
      return b == 0 ? DivisionByZero(renderer) : Value::Float(Divide(a, b).remainder);
    default:
      return FloatPower(renderer, a, b);
  }
}

Value AddText(Renderer& renderer, const Value& a, const Value& b) {
  if (!a.string().markup && !b.string().markup) return renderer.Concatenate(a, b.text());
  const Value left = Escape(renderer, a);
  const Value right = left.is_error() ? left : Escape(renderer, b);
  return right.is_error() ? right : renderer.Concatenate(left, right.text());
}

Value AddSequences(Renderer& renderer, const Value& a, const Value& b) {
  const auto left = a.items();
  const auto right = b.items();
  Value* items = renderer.arena().NewArray<Value>(left.size() + right.size());
  if (items == nullptr) return renderer.FailOutOfMemory();
  if (!renderer.Step(static_cast<std::int64_t>((left.size() + right.size()) / 8)))
    return Value::Error();
  std::copy(left.begin(), left.end(), items);
  std::copy(right.begin(), right.end(), items + left.size());
  return renderer.Make(a.kind(), Sequence{items, left.size() + right.size(), false});
}

// The bytes or items of a repetition, or nothing when there are too many to count.
std::optional<std::size_t> RepeatedSize(std::size_t size, std::int64_t times) {
  std::size_t result;
  if (__builtin_mul_overflow(size, static_cast<std::size_t>(std::max<std::int64_t>(times, 0)),
                             &result))
    return {};
  return result;
}

Value Repeat(Renderer& renderer, const Value& value, std::int64_t times) {
  if (value.is_string()) {
    const std::string_view text = value.text();
    const auto size = RepeatedSize(text.size(), times);
    if (!renderer.AllowText(size.value_or(SIZE_MAX)) || !renderer.StepText(*size))
      return Value::Error();
    char* data = renderer.arena().NewArray<char>(*size);
    if (data == nullptr) return renderer.FailOutOfMemory();
    for (std::size_t at = 0; at < *size; at += text.size())
      std::memcpy(data + at, text.data(), text.size());
    return renderer.BorrowText({data, *size}, value.string().markup);
  }
  const auto items = value.items();
  const auto size = RepeatedSize(items.size(), times);
  Value* data = size ? renderer.arena().NewArray<Value>(*size) : nullptr;
  if (data == nullptr) return renderer.FailOutOfMemory();
  if (!renderer.Step(static_cast<std::int64_t>(*size / 8))) return Value::Error();
  for (std::size_t at = 0; at < *size; at += items.size())
    std::copy(items.begin(), items.end(), data + at);
  return renderer.Make(value.kind(), Sequence{data, *size, false});
}

bool CanRepeat(const Value& value) { return value.is_string() || value.is_sequence(); }

}  // namespace

Value Arithmetic(Renderer& renderer, Operator op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral())
    return IntegerArithmetic(renderer, op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return FloatArithmetic(renderer, op, a.real(), b.real());
  if (op == Operator::kModulo && a.is_string()) return FormatPercent(renderer, a, b);
  if (a.is_undefined() || b.is_undefined()) return renderer.FailUndefined(a.is_undefined() ? a : b);
  if (op == Operator::kAdd) {
    if (a.is_string() && b.is_string()) return AddText(renderer, a, b);
    if (a.is_sequence() && a.kind() == b.kind()) return AddSequences(renderer, a, b);
  }
  if (op == Operator::kMultiply) {
    if (CanRepeat(a) && b.is_integral()) return Repeat(renderer, a, b.integer());
    if (CanRepeat(b) && a.is_integral()) return Repeat(renderer, b, a.integer());
  }
  return renderer.Fail(
      fmt::format("'{}' does not work on a {} and a {}", Spelling(op), TypeName(a), TypeName(b)));
}

Value Sign(Renderer& renderer, Operator op, const Value& value) {
  if (value.is_undefined()) return renderer.FailUndefined(value);
  if (value.is_integral()) {
    return op == Operator::kPlus ? Value::Int(value.integer())
                                 : Integer(renderer, SubtractIntegers(0, value.integer()));
  }
  if (value.is(Kind::kFloat)) return op == Operator::kPlus ? value : Value::Float(-value.real());
  return renderer.Fail(fmt::format("a {} has no sign", TypeName(value)));
}

}  // namespace tonnage::chat
