#include "chat/tests.h"

#include <algorithm>

#include "chat/arguments.h"
#include "chat/dict.h"
#include "chat/filters.h"
#include "chat/iterate.h"
#include "chat/repr.h"
#include "chat/strings.h"

namespace tonnage::chat {
namespace {

template <bool (*kIs)(const Value&)>
Truth Plain(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return BindNone(renderer, arguments, "a test") ? ToTruth(kIs(input)) : Truth::kFailed;
}

bool IsDefined(const Value& v) { return !v.is_undefined(); }
bool IsUndefined(const Value& v) { return v.is_undefined(); }
bool IsNoneValue(const Value& v) { return v.is_none(); }
bool IsBoolean(const Value& v) { return v.is(Kind::kBool); }
bool IsFalseValue(const Value& v) { return v.is(Kind::kBool) && !v.boolean(); }
bool IsTrueValue(const Value& v) { return v.is(Kind::kBool) && v.boolean(); }
bool IsInteger(const Value& v) { return v.is(Kind::kInt); }
bool IsFloat(const Value& v) { return v.is(Kind::kFloat); }
bool IsNumber(const Value& v) { return v.is_number(); }
bool IsString(const Value& v) { return v.is_string(); }
bool IsMapping(const Value& v) { return v.is(Kind::kDict); }
bool IsEscaped(const Value& v) { return v.is_string() && v.string().markup; }
bool IsSequence(const Value& v) {
  switch (v.kind()) {
    case Kind::kUndefined:  // has both a length and subscripts, if only to complain
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
      return true;
    default:
      return false;
  }
}
bool IsCallable(const Value& v) {
  switch (v.kind()) {
    case Kind::kUndefined:
    case Kind::kMacro:
    case Kind::kFunction:
    case Kind::kMethod:
    case Kind::kLoop:
    case Kind::kJoiner:
      return true;
    default:
      return false;
  }
}

// input % divisor == rest
Truth HasRemainder(Renderer& renderer, const Value& input, const Value& divisor,
                   std::int64_t rest) {
  const Value remainder = Arithmetic(renderer, Operator::kModulo, input, divisor);
  if (remainder.is_error()) return Truth::kFailed;
  return Equal(renderer, remainder, Value::Int(rest));
}

template <std::int64_t kRest>
Truth Parity(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a test")) return Truth::kFailed;
  return HasRemainder(renderer, input, Value::Int(2), kRest);
}

Truth DivisibleBy(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "divisibleby", {"num"}, 1)) return Truth::kFailed;
  return HasRemainder(renderer, input, p[0], 0);
}

template <bool (*kIs)(std::string_view)>
Truth TextCase(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a test")) return Truth::kFailed;
  const Value text = ToText(renderer, input);
  if (text.is_error() || !renderer.StepText(text.text().size())) return Truth::kFailed;
  return ToTruth(kIs(text.text()));
}

template <Operator kOp>
Truth Comparison(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "a test", {"other"}, 1, 1)) return Truth::kFailed;
  return Compare(renderer, kOp, input, p[0]);
}

Truth In(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "in", {"seq"}, 1)) return Truth::kFailed;
  return Contains(renderer, p[0], input);
}

Truth SameAs(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "sameas", {"other"}, 1)) return Truth::kFailed;
  // Short strings are shared in Python, so that equal ones are mostly the same.
  if (input.is_string() && p[0].is_string()) return Equal(renderer, input, p[0]);
  return ToTruth(input.IsSameAs(p[0]));
}

template <auto kFind>
Truth Exists(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a test")) return Truth::kFailed;
  if (!Hash(renderer, input)) {
    renderer.Fail(fmt::format("a {} is no name", TypeName(input)));
    return Truth::kFailed;
  }
  return ToTruth(input.is_string() && kFind(input.text()) != nullptr);
}

constexpr Test kTests[] = {
    {"!=", Comparison<Operator::kNotEqual>},
    {"<", Comparison<Operator::kLess>},
    {"<=", Comparison<Operator::kLessEqual>},
    {"==", Comparison<Operator::kEqual>},
    {">", Comparison<Operator::kGreater>},
    {">=", Comparison<Operator::kGreaterEqual>},
    {"boolean", Plain<IsBoolean>},
    {"callable", Plain<IsCallable>},
    {"defined", Plain<IsDefined>},
    {"divisibleby", DivisibleBy},
    {"eq", Comparison<Operator::kEqual>},
    {"equalto", Comparison<Operator::kEqual>},
    {"escaped", Plain<IsEscaped>},
    {"even", Parity<0>},
    {"false", Plain<IsFalseValue>},
    {"filter", Exists<FindFilter>},
    {"float", Plain<IsFloat>},
    {"ge", Comparison<Operator::kGreaterEqual>},
    {"greaterthan", Comparison<Operator::kGreater>},
    {"gt", Comparison<Operator::kGreater>},
    {"in", In},
    {"integer", Plain<IsInteger>},
    {"iterable", Plain<IsIterable>},
    {"le", Comparison<Operator::kLessEqual>},
    {"lessthan", Comparison<Operator::kLess>},
    {"lower", TextCase<IsLowerText>},
    {"lt", Comparison<Operator::kLess>},
    {"mapping", Plain<IsMapping>},
    {"ne", Comparison<Operator::kNotEqual>},
    {"none", Plain<IsNoneValue>},
    {"number", Plain<IsNumber>},
    {"odd", Parity<1>},
    {"sameas", SameAs},
    {"sequence", Plain<IsSequence>},
    {"string", Plain<IsString>},
    {"test", Exists<FindTest>},
    {"true", Plain<IsTrueValue>},
    {"undefined", Plain<IsUndefined>},
    {"upper", TextCase<IsUpperText>},
};

}  // namespace

const Test* FindTest(std::string_view name) {
  const auto it =
      std::lower_bound(std::begin(kTests), std::end(kTests), name,
                       [](const Test& test, std::string_view n) { return test.name < n; });
  return it != std::end(kTests) && it->name == name ? it : nullptr;
}

}  // namespace tonnage::chat
