#include "chat/renderer.h"

#include <cstring>
#include <limits>

#include "chat/convert.h"
#include "chat/globals.h"
#include "chat/text.h"

namespace tonnage::chat {

Renderer::Renderer(const Json& variables, const RenderOptions& options)
    : variables_(variables),
      options_(options),
      arena_(options.limits.memory_bytes),
      steps_left_(options.limits.steps) {}

Value Renderer::Fail(std::string message) {
  if (!error_) error_ = std::move(message);
  return Value::Error();
}

Value Renderer::FailOutOfMemory() {
  return Fail(fmt::format("the template needs more than its {} of memory",
                          FormatBytes(options_.limits.memory_bytes)));
}

Value Renderer::FailUndefined(const Value& value) {
  const Undefined& undefined = value.undefined();
  if (!undefined.hint.empty()) return Fail(std::string(undefined.hint));
  if (undefined.object == nullptr) return Fail(fmt::format("'{}' is undefined", undefined.name));
  const Value& object = *undefined.object;
  return Fail(fmt::format("'{}{}' has no attribute '{}'", TypeName(object),
                          object.is_none() ? "" : " object", undefined.name));
}

void Renderer::LocateError(Position position) {
  if (!position_) position_ = position;
}

Error Renderer::error() const {
  return position_ ? ErrorAt(*position_, *error_) : InvalidArgument("{}", *error_);
}

bool Renderer::StepsExhausted() {
  Fail(fmt::format("the template takes more than its {} steps",
                   FormatThousands(options_.limits.steps)));
  return false;
}

bool Renderer::AllowText(std::size_t bytes) {
  if (bytes <= static_cast<std::size_t>(options_.limits.output_bytes) &&
      bytes <= std::numeric_limits<std::uint32_t>::max()) {
    return true;
  }
  Fail(fmt::format("the template makes more than its {} of text",
                   FormatBytes(options_.limits.output_bytes)));
  return false;
}

bool Renderer::Depth::Ok() const {
  if (renderer_->depth_ <= renderer_->options_.limits.depth) return true;
  renderer_->Fail(fmt::format("the template nests deeper than its {} levels",
                              renderer_->options_.limits.depth));
  return false;
}

Value Renderer::BorrowText(std::string_view text, bool markup) {
  if (!AllowText(text.size())) return Value::Error();
  return Make(Kind::kString, String{.data = text.data() ? text.data() : "",
                                    .size = static_cast<std::uint32_t>(text.size()),
                                    .markup = markup,
                                    .chars = -1,
                                    .used = nullptr,
                                    .capacity = 0});
}

Value Renderer::Text(std::string_view text, bool markup) {
  if (!AllowText(text.size()) || !StepText(text.size())) return Value::Error();
  char* data = arena_.NewArray<char>(text.size());
  if (data == nullptr) return FailOutOfMemory();
  if (!text.empty()) std::memcpy(data, text.data(), text.size());
  return BorrowText({data, text.size()}, markup);
}

Value Renderer::List(std::span<const Value> items) {
  Value* copy = arena_.NewArray<Value>(items.size());
  if (copy == nullptr) return FailOutOfMemory();
  if (!Step(static_cast<std::int64_t>(items.size() / 8))) return Value::Error();
  std::copy(items.begin(), items.end(), copy);
  return Make(Kind::kList, Sequence{copy, items.size(), false});
}

Value Renderer::Tuple(std::span<const Value> items, bool group) {
  const Value list = List(items);
  if (list.is_error()) return list;
  list.as_mutable<Sequence>().group = group;
  return Value::Of(Kind::kTuple, &list.sequence());
}

// Text that is made longer again and again would cost the square of its length. So a result's
// buffer has room for more, and whoever holds the text that ends where the buffer's used part ends
// may append in place; others' text stays as it is.
Value Renderer::Concatenate(const Value& left, std::string_view right) {
  const String& old = left.string();
  const std::size_t size = std::size_t{old.size} + right.size();
  if (!AllowText(size) || !StepText(right.size())) return Value::Error();
  String joined{.data = old.data,
                .size = static_cast<std::uint32_t>(size),
                .markup = old.markup,
                .chars = -1,
                .used = old.used,
                .capacity = old.capacity};
  const bool in_place = old.used != nullptr && *old.used == old.size && size <= old.capacity;
  if (!in_place) {
    if (!StepText(old.size)) return Value::Error();
    const std::size_t capacity = old.size < 64 ? size : std::max(size, std::size_t{old.size} * 2);
    char* data = arena_.NewArray<char>(capacity);
    joined.used = arena_.New<std::uint32_t>(0u);
    if (data == nullptr || joined.used == nullptr) return FailOutOfMemory();
    std::memcpy(data, old.data, old.size);
    joined.data = data;
    joined.capacity = static_cast<std::uint32_t>(std::min(capacity, std::size_t{UINT32_MAX}));
  }
  if (!right.empty()) {
    std::memcpy(const_cast<char*>(joined.data) + old.size, right.data(), right.size());
  }
  *joined.used = joined.size;
  return Make(Kind::kString, joined);
}

Value Renderer::UndefinedVariable(std::string_view name) {
  return Make(Kind::kUndefined, Undefined{.hint = {}, .name = name, .object = nullptr});
}

Value Renderer::UndefinedAttribute(const Value& object, std::string_view name) {
  const Value* copy = arena_.New<Value>(object);
  if (copy == nullptr) return FailOutOfMemory();
  return Make(Kind::kUndefined, Undefined{.hint = {}, .name = name, .object = copy});
}

Value Renderer::UndefinedWith(std::string_view hint) {
  const Value text = Text(hint);
  if (text.is_error()) return text;
  return Make(Kind::kUndefined, Undefined{.hint = text.text(), .name = {}, .object = nullptr});
}

std::int64_t Renderer::Chars(const Value& string) {
  String& s = string.as_mutable<String>();
  if (s.chars >= 0) return s.chars;  // constants, which threads share, are counted when parsed
  Step(static_cast<std::int64_t>(s.size / 256));
  return s.chars = CountChars(s.view());
}

Value Renderer::Resolve(std::string_view name) {
  if (const auto it = resolved_.find(name); it != resolved_.end()) return it->second;
  Value value = FindGlobal(name);
  if (const auto it = variables_.find(name); it != variables_.end()) value = FromJson(*this, *it);
  resolved_.emplace(name, value);
  return value;
}

}  // namespace tonnage::chat
