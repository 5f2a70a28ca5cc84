#include "chat/loop.h"

#include "chat/methods.h"
#include "chat/operators.h"

namespace tonnage::chat {

Iterator::Step LoopState::Advance(Renderer& renderer) {
  if (!peeked && !Peek(renderer)) return Iterator::kFailed;
  if (after.is_missing()) return Iterator::kDone;
  peeked = false;
  ++index0;
  before = current;
  current = after;
  after = Value();
  return Iterator::kItem;
}

bool LoopState::Peek(Renderer& renderer) {
  if (peeked) return true;
  const Iterator::Step step = source->Next(renderer, &after);
  if (step == Iterator::kFailed) return false;
  if (step == Iterator::kDone) after = Value();
  peeked = true;
  return true;
}

std::optional<std::int64_t> LoopState::Length(Renderer& renderer) {
  if (length >= 0) return length;
  if (HasLength(iterable)) {
    const auto size = tonnage::chat::Length(renderer, iterable);
    if (size) length = *size;
    return size;
  }
  // A generator's length is only known once it has been gone through.
  ListBuilder rest(renderer);
  const bool has_after = peeked && !after.is_missing();
  const bool at_end = peeked && after.is_missing();
  if (!at_end && !rest.AddAll(Value::Of(Kind::kIterator, source))) return {};
  const auto count = static_cast<std::int64_t>(rest.size());
  const Value list = rest.Finish();
  source = list.is_error() ? nullptr : Iterate(renderer, list);
  if (source == nullptr) return {};
  length = count + index0 + 1 + (has_after ? 1 : 0);
  return length;
}

namespace {

Value Cycle(Renderer& renderer, Value self, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.keywords.empty()) {
    return renderer.Fail("loop.cycle() needs values to cycle through");
  }
  const auto count = static_cast<std::int64_t>(arguments.positional.size());
  const std::int64_t index0 = self.as<LoopState>().index0;
  return arguments.positional[static_cast<std::size_t>(((index0 % count) + count) % count)];
}

Value Changed(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!arguments.keywords.empty())
    return renderer.Fail("loop.changed() takes no keyword arguments");
  auto& loop = self.as_mutable<LoopState>();
  const Value now = renderer.Tuple(arguments.positional);
  if (now.is_error()) return now;
  const Truth same = loop.changed.is_missing() ? Truth::kFalse : Equal(renderer, loop.changed, now);
  if (same == Truth::kFailed) return Value::Error();
  if (same == Truth::kTrue) return Value::Bool(false);
  loop.changed = now;
  return Value::Bool(true);
}

constexpr Method kCycle = {"cycle", Cycle};
constexpr Method kChanged = {"changed", Changed};

Value FromEnd(Renderer& renderer, LoopState& loop, std::int64_t offset) {
  const auto length = loop.Length(renderer);
  return length ? Value::Int(*length - loop.index0 - offset) : Value::Error();
}

}  // namespace

Value LoopAttribute(Renderer& renderer, const Value& value, std::string_view name) {
  auto& loop = value.as_mutable<LoopState>();
  if (name == "index") return Value::Int(loop.index0 + 1);
  if (name == "index0") return Value::Int(loop.index0);
  if (name == "first") return Value::Bool(loop.index0 == 0);
  if (name == "depth") return Value::Int(loop.depth0 + 1);
  if (name == "depth0") return Value::Int(loop.depth0);
  if (name == "revindex") return FromEnd(renderer, loop, 0);
  if (name == "revindex0") return FromEnd(renderer, loop, 1);
  if (name == "last" || name == "nextitem") {
    if (!loop.Peek(renderer)) return Value::Error();
    if (name == "last") return Value::Bool(loop.after.is_missing());
    return loop.after.is_missing() ? renderer.UndefinedWith("there is no next item") : loop.after;
  }
  if (name == "length") {
    const auto length = loop.Length(renderer);
    return length ? Value::Int(*length) : Value::Error();
  }
  if (name == "previtem") {
    return loop.index0 == 0 ? renderer.UndefinedWith("there is no previous item") : loop.before;
  }
  if (name == "cycle" || name == "changed") {
    return renderer.Make(Kind::kMethod, BoundMethod{name == "cycle" ? &kCycle : &kChanged, value});
  }
  return Value();
}

}  // namespace tonnage::chat
