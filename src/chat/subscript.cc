#include "chat/subscript.h"

#include <algorithm>
#include <array>

#include "chat/ast.h"
#include "chat/dict.h"
#include "chat/iterate.h"
#include "chat/loop.h"
#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

Value Unsafe(Renderer& renderer, const Value& object, std::string_view name) {
  return renderer.UndefinedWith(
      fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, TypeName(object)));
}

// What every Python object has, and the sandbox refuses.
bool IsObjectAttribute(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kNames = {
      "__class__",   "__delattr__",      "__dir__", "__doc__",  "__eq__",     "__format__",
      "__ge__",      "__getattribute__", "__gt__",  "__hash__", "__init__",   "__init_subclass__",
      "__le__",      "__lt__",           "__ne__",  "__new__",  "__reduce__", "__repr__",
      "__setattr__", "__str__"};
  return name.starts_with("__") && std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Value MacroAttribute(Renderer& renderer, const MacroExpr& macro, std::string_view name) {
  if (name == "name") return macro.name.empty() ? Value::None() : renderer.BorrowText(macro.name);
  if (name == "catch_kwargs") return Value::Bool(macro.uses_kwargs);
  if (name == "catch_varargs") return Value::Bool(macro.uses_varargs);
  if (name == "caller") return Value::Bool(macro.uses_caller);
  if (name == "explicit_caller") return Value::Bool(macro.explicit_caller);
  if (name != "arguments") return Value();
  ListBuilder names(renderer);
  for (const NameExpr* parameter : macro.parameters) {
    if (!names.Add(renderer.BorrowText(parameter->name))) return Value::Error();
  }
  return names.Finish(Kind::kTuple);
}

Value CyclerAttribute(Renderer& renderer, const Cycler& cycler, std::string_view name) {
  if (name == "current") return cycler.items[cycler.position];
  if (name == "pos") return Value::Int(static_cast<std::int64_t>(cycler.position));
  return name == "items" ? renderer.Tuple(cycler.items) : Value();
}

Value NumberAttribute(const Value& number, std::string_view name) {
  if (name == "real") return number.is_integral() ? Value::Int(number.integer()) : number;
  if (name == "imag") return number.is_integral() ? Value::Int(0) : Value::Float(0);
  if (number.is_integral() && name == "numerator") return Value::Int(number.integer());
  if (number.is_integral() && name == "denominator") return Value::Int(1);
  return Value();
}

// Attributes that are no methods; missing when there is none.
Value DataAttribute(Renderer& renderer, const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kLoop:
      return LoopAttribute(renderer, object, name);
    case Kind::kNamespace: {
      const Value* found = DictFindText(object.as<Namespace>().attributes, name);
      return found ? *found : Value();
    }
    case Kind::kMacro:
      return MacroAttribute(renderer, *object.as<Macro>().definition, name);
    case Kind::kCycler:
      return CyclerAttribute(renderer, object.as<Cycler>(), name);
    case Kind::kJoiner:
      if (name == "sep") return object.as<Joiner>().separator;
      return name == "used" ? Value::Bool(object.as<Joiner>().used) : Value();
    case Kind::kRange:
      if (name == "start") return Value::Int(object.as<Range>().start);
      if (name == "stop") return Value::Int(object.as<Range>().stop);
      return name == "step" ? Value::Int(object.as<Range>().step) : Value();
    case Kind::kTuple:
      if (!object.sequence().group) return Value();
      if (name == "grouper") return object.items()[0];
      return name == "list" ? object.items()[1] : Value();
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return NumberAttribute(object, name);
    default:
      return Value();
  }
}

// The item; missing when there is none or the index does not suit the object.
Value NativeItem(Renderer& renderer, const Value& object, const Value& index) {
  if (object.is(Kind::kDict)) {
    const Value* found = DictFind(renderer, object.dict(), index);
    return renderer.failed() ? Value::Error() : found ? *found : Value();
  }
  if (!index.is_integral()) return Value();
  std::int64_t i = index.integer();
  std::int64_t size = 0;
  switch (object.kind()) {
    case Kind::kString:
      size = renderer.Chars(object);
      break;
    case Kind::kList:
    case Kind::kTuple:
      size = static_cast<std::int64_t>(object.sequence().size);
      break;
    case Kind::kRange:
      size = object.as<Range>().size;
      break;
    default:
      return Value();
  }
  if (i < 0) i += size;
  if (i < 0 || i >= size) return Value();
  if (object.is(Kind::kRange)) return Value::Int(object.as<Range>().at(i));
  if (object.is_sequence()) return object.items()[static_cast<std::size_t>(i)];
  const std::string_view text = object.text();
  std::size_t begin = static_cast<std::size_t>(i);
  if (static_cast<std::size_t>(size) != text.size()) {
    begin = OffsetOfChar(text, i);
    if (!renderer.StepText(begin)) return Value::Error();
  }
  std::size_t end = begin;
  DecodeChar(text, &end);
  return renderer.BorrowText(text.substr(begin, end - begin), object.string().markup);
}

// A slice's parts against a length, as Python adjusts them. False when one has the wrong type.
struct SliceBounds {
  std::int64_t start, stop, step, size;
};
bool IsIndex(const Value& value) { return value.is_none() || value.is_integral(); }

SliceBounds Adjust(const Slice& slice, std::int64_t length) {
  const std::int64_t step = slice.step.is_none() ? 1 : std::max(slice.step.integer(), -INT64_MAX);
  auto clamp = [&](const Value& part, std::int64_t otherwise) {
    if (part.is_none()) return otherwise;
    std::int64_t i = part.integer();
    if (i < 0) {
      i += length;
      if (i < 0) i = step < 0 ? -1 : 0;
    } else if (i >= length) {
      i = step < 0 ? length - 1 : length;
    }
    return i;
  };
  const std::int64_t start = clamp(slice.start, step < 0 ? length - 1 : 0);
  const std::int64_t stop = clamp(slice.stop, step < 0 ? -1 : length);
  std::int64_t size = 0;
  if (step < 0 && stop < start) size = (start - stop - 1) / -step + 1;
  if (step > 0 && start < stop) size = (stop - start - 1) / step + 1;
  return {start, stop, step, size};
}

Value SliceText(Renderer& renderer, const Value& object, const SliceBounds& bounds) {
  const std::string_view text = object.text();
  const bool markup = object.string().markup;
  const bool ascii = static_cast<std::size_t>(renderer.Chars(object)) == text.size();
  if (bounds.step == 1) {
    const auto begin =
        ascii ? static_cast<std::size_t>(bounds.start) : OffsetOfChar(text, bounds.start);
    const std::string_view rest = text.substr(begin);
    const auto size =
        ascii ? static_cast<std::size_t>(bounds.size) : OffsetOfChar(rest, bounds.size);
    if (!ascii && !renderer.StepText(begin + size)) return Value::Error();
    return renderer.BorrowText(rest.substr(0, size), markup);
  }
  if (!renderer.Step(static_cast<std::int64_t>(text.size() / 8))) return Value::Error();
  std::string result;
  if (ascii) {
    for (std::int64_t i = 0; i < bounds.size; ++i) {
      result.push_back(text[static_cast<std::size_t>(bounds.start + i * bounds.step)]);
    }
  } else {
    const std::vector<char32_t> chars = Decode(text);
    for (std::int64_t i = 0; i < bounds.size; ++i) {
      AppendChar(chars[static_cast<std::size_t>(bounds.start + i * bounds.step)], &result);
    }
  }
  return renderer.Text(result, markup);
}

Value SliceItems(Renderer& renderer, const Value& object, const SliceBounds& bounds) {
  const auto items = object.items();
  if (bounds.step == 1) {  // shares what never changes
    return renderer.Make(object.kind(), Sequence{items.data() + bounds.start,
                                                 static_cast<std::size_t>(bounds.size), false});
  }
  ListBuilder result(renderer);
  if (!renderer.Step(bounds.size / 8)) return Value::Error();
  for (std::int64_t i = 0; i < bounds.size; ++i) {
    if (!result.Add(items[static_cast<std::size_t>(bounds.start + i * bounds.step)]))
      return Value::Error();
  }
  return result.Finish(object.kind());
}

}  // namespace

Value NativeAttribute(Renderer& renderer, const Value& object, std::string_view name) {
  const Value data = DataAttribute(renderer, object, name);
  if (!data.is_missing())
    return name.starts_with('_') && !data.is_error() ? Unsafe(renderer, object, name) : data;
  if (const Method* method = FindMethod(object.kind(), name)) {
    if (method->call == nullptr) return Unsafe(renderer, object, name);
    return renderer.Make(Kind::kMethod, BoundMethod{method, object});
  }
  return IsObjectAttribute(name) && !object.is(Kind::kNamespace) ? Unsafe(renderer, object, name)
                                                                 : Value();
}

Value GetAttribute(Renderer& renderer, const Value& object, std::string_view name) {
  if (object.is_undefined()) return renderer.FailUndefined(object);
  const Value attribute = NativeAttribute(renderer, object, name);
  if (!attribute.is_missing()) return attribute;
  if (object.is(Kind::kDict)) {
    if (const Value* found = DictFindText(object.dict(), name)) return *found;
  }
  return renderer.UndefinedAttribute(object, name);
}

Value GetItem(Renderer& renderer, const Value& object, const Value& index) {
  if (object.is_undefined()) return renderer.FailUndefined(object);
  const Value item = NativeItem(renderer, object, index);
  if (!item.is_missing()) return item;
  if (index.is_string()) {
    const Value attribute = NativeAttribute(renderer, object, index.text());
    if (!attribute.is_missing()) return attribute;
    return renderer.UndefinedAttribute(object, index.text());
  }
  return renderer.UndefinedWith(fmt::format("{} object has no such element", TypeName(object)));
}

Value GetSlice(Renderer& renderer, const Value& object, const Slice& slice, bool lenient) {
  if (object.is_undefined()) return renderer.FailUndefined(object);
  const bool sliceable = object.is_string() || object.is_sequence() || object.is(Kind::kRange);
  if (!sliceable || !IsIndex(slice.start) || !IsIndex(slice.stop) || !IsIndex(slice.step)) {
    if (lenient)
      return renderer.UndefinedWith(fmt::format("{} object has no such slice", TypeName(object)));
    return sliceable ? renderer.Fail("the parts of a slice must be integers or none")
                     : renderer.Fail(fmt::format("a {} cannot be sliced", TypeName(object)));
  }
  if (slice.step.is_integral() && slice.step.integer() == 0)
    return renderer.Fail("a slice's step cannot be 0");
  const auto length = Length(renderer, object);
  if (!length) return Value::Error();
  const SliceBounds bounds = Adjust(slice, *length);
  if (object.is_string()) return SliceText(renderer, object, bounds);
  if (object.is_sequence()) return SliceItems(renderer, object, bounds);
  const Range& range = object.as<Range>();
  const Range by_step{.start = 0, .stop = 0, .step = range.step, .size = 0};
  return renderer.Make(Kind::kRange, Range{.start = range.at(bounds.start),
                                           .stop = range.at(bounds.stop),
                                           .step = by_step.at(bounds.step),
                                           .size = bounds.size});
}

}  // namespace tonnage::chat
