#include <algorithm>
#include <cmath>

#include "chat/dict.h"
#include "chat/iterate.h"
#include "chat/loop.h"
#include "chat/operators.h"

namespace tonnage::chat {
namespace {

// -1, 0, 1, or nothing when a NaN is among them.
std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  }
  // 64 bits of mantissa hold every integer.
  const long double x = a.is_integral() ? static_cast<long double>(a.integer()) : a.real();
  const long double y = b.is_integral() ? static_cast<long double>(b.integer()) : b.real();
  if (std::isnan(x) || std::isnan(y)) return {};
  return x < y ? -1 : x > y ? 1 : 0;
}

bool Holds(Operator op, int order) {
  switch (op) {
    case Operator::kLess:
      return order < 0;
    case Operator::kLessEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

std::string_view Spelling(Operator op) {
  switch (op) {
    case Operator::kLess:
      return "<";
    case Operator::kLessEqual:
      return "<=";
    case Operator::kGreater:
      return ">";
    default:
      return ">=";
  }
}

Truth SameOrEqual(Renderer& renderer, const Value& a, const Value& b) {
  return a.IsSameAs(b) && !a.is(Kind::kFloat) ? Truth::kTrue : Equal(renderer, a, b);
}

Truth EqualSequences(Renderer& renderer, std::span<const Value> a, std::span<const Value> b) {
  if (a.size() != b.size()) return Truth::kFalse;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Truth equal = SameOrEqual(renderer, a[i], b[i]);
    if (equal != Truth::kTrue) return equal;
  }
  return Truth::kTrue;
}

Truth EqualDicts(Renderer& renderer, const Dict& a, const Dict& b) {
  if (a.size != b.size) return Truth::kFalse;
  for (std::uint32_t i = 0; i < a.size; ++i) {
    const Value* other = DictFind(renderer, b, a.entries[i].key);
    if (renderer.failed()) return Truth::kFailed;
    if (other == nullptr) return Truth::kFalse;
    const Truth equal = SameOrEqual(renderer, a.entries[i].value, *other);
    if (equal != Truth::kTrue) return equal;
  }
  return Truth::kTrue;
}

bool EqualRanges(const Range& a, const Range& b) {
  if (a.size != b.size) return false;
  return a.size == 0 || (a.start == b.start && (a.size == 1 || a.step == b.step));
}

Truth OrderSequences(Renderer& renderer, Operator op, std::span<const Value> a,
                     std::span<const Value> b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const Truth equal = SameOrEqual(renderer, a[i], b[i]);
    if (equal == Truth::kFailed) return equal;
    if (equal == Truth::kFalse) return Compare(renderer, op, a[i], b[i]);
  }
  return ToTruth(Holds(op, a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0));
}

Truth Order(Renderer& renderer, Operator op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const auto order = CompareNumbers(a, b);
    return ToTruth(order && Holds(op, *order));
  }
  if (a.is_string() && b.is_string()) {
    if (!renderer.StepText(std::min(a.text().size(), b.text().size()))) return Truth::kFailed;
    return ToTruth(
        Holds(op, a.text().compare(b.text())));  // bytes of UTF-8 order as code points do
  }
  if (a.is_sequence() && a.kind() == b.kind())
    return OrderSequences(renderer, op, a.items(), b.items());
  if (a.is_undefined() || b.is_undefined()) {
    renderer.FailUndefined(a.is_undefined() ? a : b);
    return Truth::kFailed;
  }
  renderer.Fail(
      fmt::format("'{}' does not order a {} and a {}", Spelling(op), TypeName(a), TypeName(b)));
  return Truth::kFailed;
}

Truth ContainsItem(Renderer& renderer, std::span<const Value> items, const Value& item) {
  for (const Value& other : items) {
    const Truth equal = SameOrEqual(renderer, other, item);
    if (equal != Truth::kFalse) return equal;
  }
  return Truth::kFalse;
}

Truth ContainsKey(Renderer& renderer, const Dict& dict, const Value& item) {
  if (!Hash(renderer, item)) {
    renderer.Fail(fmt::format("a {} cannot be a key of a dict", TypeName(item)));
    return Truth::kFailed;
  }
  const bool found = DictFind(renderer, dict, item) != nullptr;
  return renderer.failed() ? Truth::kFailed : ToTruth(found);
}

Truth ContainsByIterating(Renderer& renderer, const Value& container, const Value& item) {
  Iterator* iterator = Iterate(renderer, container);
  if (iterator == nullptr) return Truth::kFailed;
  Value other;
  Iterator::Step step;
  while ((step = iterator->Next(renderer, &other)) == Iterator::kItem) {
    const Truth equal = SameOrEqual(renderer, other, item);
    if (equal != Truth::kFalse) return equal;
  }
  return step == Iterator::kFailed ? Truth::kFailed : Truth::kFalse;
}

}  // namespace

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Kind::kError:
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kString:
      return value.string().size != 0;
    case Kind::kList:
    case Kind::kTuple:
      return value.sequence().size != 0;
    case Kind::kDict:
      return value.dict().size != 0;
    case Kind::kDictView:
      return value.as<DictView>().dict->size != 0;
    case Kind::kRange:
      return value.as<Range>().size != 0;
    default:
      return true;
  }
}

Truth Equal(Renderer& renderer, const Value& a, const Value& b) {
  if (!renderer.Step()) return Truth::kFailed;
  if (a.is_number() && b.is_number()) {
    const auto order = CompareNumbers(a, b);
    return ToTruth(order && *order == 0);
  }
  if (a.kind() != b.kind()) return Truth::kFalse;
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return Truth::kTrue;
    case Kind::kString:
      if (!renderer.StepText(a.text().size())) return Truth::kFailed;
      return ToTruth(a.text() == b.text());
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: {
      const Renderer::Depth depth(&renderer);
      if (!depth.Ok()) return Truth::kFailed;
      if (a.is(Kind::kDict)) return EqualDicts(renderer, a.dict(), b.dict());
      return EqualSequences(renderer, a.items(), b.items());
    }
    case Kind::kRange:
      return ToTruth(EqualRanges(a.as<Range>(), b.as<Range>()));
    case Kind::kMethod:
      return ToTruth(a.as<BoundMethod>().method == b.as<BoundMethod>().method &&
                     a.as<BoundMethod>().self.IsSameAs(b.as<BoundMethod>().self));
    default:
      return ToTruth(a.address() == b.address());
  }
}

Truth Compare(Renderer& renderer, Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::kEqual:
      return Equal(renderer, a, b);
    case Operator::kNotEqual: {
      const Truth equal = Equal(renderer, a, b);
      return equal == Truth::kFailed ? equal : ToTruth(equal == Truth::kFalse);
    }
    case Operator::kIn:
      return Contains(renderer, b, a);
    case Operator::kNotIn: {
      const Truth in = Contains(renderer, b, a);
      return in == Truth::kFailed ? in : ToTruth(in == Truth::kFalse);
    }
    default: {
      const Renderer::Depth depth(&renderer);
      return depth.Ok() && renderer.Step() ? Order(renderer, op, a, b) : Truth::kFailed;
    }
  }
}

Truth Contains(Renderer& renderer, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString:
      if (!item.is_string()) {
        renderer.Fail(
            fmt::format("'in' looks for a string in a string, not for a {}", TypeName(item)));
        return Truth::kFailed;
      }
      if (!renderer.StepText(container.text().size() + item.text().size())) return Truth::kFailed;
      return ToTruth(container.text().find(item.text()) != std::string_view::npos);
    case Kind::kList:
    case Kind::kTuple:
      return ContainsItem(renderer, container.items(), item);
    case Kind::kDict:
      return ContainsKey(renderer, container.dict(), item);
    case Kind::kDictView:
      if (container.as<DictView>().which == DictView::kKeys) {
        return ContainsKey(renderer, *container.as<DictView>().dict, item);
      }
      return ContainsByIterating(renderer, container, item);
    case Kind::kUndefined:
      return Truth::kFalse;
    default:
      return ContainsByIterating(renderer, container, item);
  }
}

bool HasLength(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

std::optional<std::int64_t> Length(Renderer& renderer, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return renderer.Chars(value);
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<std::int64_t>(value.sequence().size);
    case Kind::kDict:
      return value.dict().size;
    case Kind::kDictView:
      return value.as<DictView>().dict->size;
    case Kind::kRange:
      return value.as<Range>().size;
    case Kind::kLoop:
      return value.as_mutable<LoopState>().Length(renderer);
    default:
      renderer.Fail(fmt::format("a {} has no length", TypeName(value)));
      return {};
  }
}

}  // namespace tonnage::chat
