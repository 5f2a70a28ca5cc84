// The methods of lists, tuples, dictionaries, ranges, numbers and cyclers.
#include <cmath>

#include "chat/arguments.h"
#include "chat/dict.h"
#include "chat/iterate.h"
#include "chat/methods.h"
#include "chat/number.h"
#include "chat/operators.h"

namespace tonnage::chat {
namespace {

Value SequenceCount(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "count", {"value"}, 1, 1)) return Value::Error();
  std::int64_t count = 0;
  for (const Value& item : self.items()) {
    const Truth equal =
        item.IsSameAs(p[0]) && !item.is(Kind::kFloat) ? Truth::kTrue : Equal(renderer, item, p[0]);
    if (equal == Truth::kFailed) return Value::Error();
    count += equal == Truth::kTrue;
  }
  return Value::Int(count);
}

Value SequenceIndex(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<3> p;
  if (!p.Bind(renderer, arguments, "index", {"value", "start", "stop"}, 1, 3))
    return Value::Error();
  const auto items = self.items();
  const auto size = static_cast<std::int64_t>(items.size());
  std::int64_t bounds[2] = {0, size};
  for (std::size_t i = 0; i < 2; ++i) {
    if (p[i + 1].is_missing()) continue;
    const auto bound = IntegerArgument(renderer, p[i + 1], "index");
    if (!bound) return Value::Error();
    bounds[i] = std::clamp<std::int64_t>(*bound < 0 ? *bound + size : *bound, 0, size);
  }
  for (std::int64_t i = bounds[0]; i < bounds[1]; ++i) {
    const Value& item = items[static_cast<std::size_t>(i)];
    const Truth equal =
        item.IsSameAs(p[0]) && !item.is(Kind::kFloat) ? Truth::kTrue : Equal(renderer, item, p[0]);
    if (equal == Truth::kFailed) return Value::Error();
    if (equal == Truth::kTrue) return Value::Int(i);
  }
  return renderer.Fail(fmt::format("the value is not in this {}", TypeName(self)));
}

Value ListCopy(Renderer& renderer, Value self, const Arguments& arguments) {
  return BindNone(renderer, arguments, "copy") ? renderer.List(self.items()) : Value::Error();
}

Value DictGet(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "get", {"key", "default"}, 1, 2)) return Value::Error();
  if (!p[0].is_string() && !Hash(renderer, p[0])) {
    return renderer.Fail(fmt::format("a {} cannot be a key of a dict", TypeName(p[0])));
  }
  const Value* found = DictFind(renderer, self.dict(), p[0]);
  if (renderer.failed()) return Value::Error();
  return found ? *found : p.Or(1, Value::None());
}

template <DictView::Which kWhich>
Value MakeView(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a dict's view")) return Value::Error();
  return renderer.Make(Kind::kDictView, DictView{kWhich, &self.dict()});
}

Value DictCopy(Renderer& renderer, Value self, const Arguments& arguments) {
  return BindNone(renderer, arguments, "copy") ? renderer.Make(Kind::kDict, self.dict())
                                               : Value::Error();
}

Value DictFromKeys(Renderer& renderer, Value, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "fromkeys", {"keys", "value"}, 1, 2)) return Value::Error();
  ListBuilder keys(renderer);
  Dict* dict = NewDict(renderer, 0);
  if (dict == nullptr || !keys.AddAll(p[0])) return Value::Error();
  for (const Value& key : keys.items()) {
    if (!DictSet(renderer, dict, key, p.Or(1, Value::None()))) return Value::Error();
  }
  return Value::Of(Kind::kDict, dict);
}

// The number that is in the range and equal to the argument, as an index; -1 when it is not there.
std::optional<std::int64_t> FindInRange(Renderer& renderer, const Range& range,
                                        const Value& value) {
  for (std::int64_t i = 0; i < range.size; ++i) {
    const Truth equal = Equal(renderer, Value::Int(range.at(i)), value);
    if (equal == Truth::kFailed) return {};
    if (equal == Truth::kTrue) return i;
  }
  return -1;
}

Value RangeCount(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "count", {"value"}, 1, 1)) return Value::Error();
  const auto found = FindInRange(renderer, self.as<Range>(), p[0]);
  return found ? Value::Int(*found >= 0) : Value::Error();
}

Value RangeIndex(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "index", {"value"}, 1, 1)) return Value::Error();
  const auto found = FindInRange(renderer, self.as<Range>(), p[0]);
  if (!found) return Value::Error();
  return *found >= 0 ? Value::Int(*found) : renderer.Fail("the value is not in this range");
}

std::uint64_t Magnitude(const Value& number) {
  const std::int64_t i = number.integer();
  return i < 0 ? 0 - static_cast<std::uint64_t>(i) : static_cast<std::uint64_t>(i);
}

Value BitLength(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "bit_length")) return Value::Error();
  const std::uint64_t magnitude = Magnitude(self);
  return Value::Int(magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude));
}

Value BitCount(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "bit_count")) return Value::Error();
  return Value::Int(__builtin_popcountll(Magnitude(self)));
}

Value Conjugate(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "conjugate")) return Value::Error();
  return self.is_integral() ? Value::Int(self.integer()) : self;
}

Value IntegerRatio(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "as_integer_ratio")) return Value::Error();
  const Value pair[] = {Value::Int(self.integer()), Value::Int(1)};
  return renderer.Tuple(pair);
}

Value IsWhole(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "is_integer")) return Value::Error();
  return Value::Bool(std::isfinite(self.real()) && std::floor(self.real()) == self.real());
}

Value CyclerNext(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "next")) return Value::Error();
  auto& cycler = self.as_mutable<Cycler>();
  const Value item = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return item;
}

Value CyclerReset(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "reset")) return Value::Error();
  self.as_mutable<Cycler>().position = 0;
  return Value::None();
}

constexpr Method kListMethods[] = {
    {"append", nullptr}, {"clear", nullptr},       {"copy", ListCopy},  {"count", SequenceCount},
    {"extend", nullptr}, {"index", SequenceIndex}, {"insert", nullptr}, {"pop", nullptr},
    {"remove", nullptr}, {"reverse", nullptr},     {"sort", nullptr},
};
constexpr Method kTupleMethods[] = {{"count", SequenceCount}, {"index", SequenceIndex}};
constexpr Method kDictMethods[] = {
    {"clear", nullptr},
    {"copy", DictCopy},
    {"fromkeys", DictFromKeys},
    {"get", DictGet},
    {"items", MakeView<DictView::kItems>},
    {"keys", MakeView<DictView::kKeys>},
    {"pop", nullptr},
    {"popitem", nullptr},
    {"setdefault", nullptr},
    {"update", nullptr},
    {"values", MakeView<DictView::kValues>},
};
constexpr Method kRangeMethods[] = {{"count", RangeCount}, {"index", RangeIndex}};
constexpr Method kIntegerMethods[] = {{"as_integer_ratio", IntegerRatio},
                                      {"bit_count", BitCount},
                                      {"bit_length", BitLength},
                                      {"conjugate", Conjugate}};
constexpr Method kFloatMethods[] = {{"conjugate", Conjugate}, {"is_integer", IsWhole}};
constexpr Method kCyclerMethods[] = {{"next", CyclerNext}, {"reset", CyclerReset}};

}  // namespace

std::span<const Method> ListMethods() { return kListMethods; }
std::span<const Method> TupleMethods() { return kTupleMethods; }
std::span<const Method> DictMethods() { return kDictMethods; }
std::span<const Method> RangeMethods() { return kRangeMethods; }
std::span<const Method> IntegerMethods() { return kIntegerMethods; }
std::span<const Method> FloatMethods() { return kFloatMethods; }
std::span<const Method> CyclerMethods() { return kCyclerMethods; }

}  // namespace tonnage::chat
