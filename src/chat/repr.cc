#include "chat/repr.h"

#include "chat/ast.h"
#include "chat/loop.h"
#include "chat/number.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

bool AppendItems(Renderer& renderer, std::span<const Value> items, std::string* out) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) *out += ", ";
    if (!AppendRepr(renderer, items[i], out)) return false;
  }
  return true;
}

bool AppendEntries(Renderer& renderer, const Dict& dict, std::string* out) {
  *out += '{';
  for (std::uint32_t i = 0; i < dict.size; ++i) {
    if (i != 0) *out += ", ";
    if (!AppendRepr(renderer, dict.entries[i].key, out)) return false;
    *out += ": ";
    if (!AppendRepr(renderer, dict.entries[i].value, out)) return false;
  }
  *out += '}';
  return true;
}

bool AppendView(Renderer& renderer, const DictView& view, std::string* out) {
  for (std::uint32_t i = 0; i < view.dict->size; ++i) {
    const Entry& entry = view.dict->entries[i];
    if (i != 0) *out += ", ";
    if (view.which == DictView::kItems) {
      *out += '(';
      if (!AppendRepr(renderer, entry.key, out)) return false;
      *out += ", ";
      if (!AppendRepr(renderer, entry.value, out)) return false;
      *out += ')';
    } else if (!AppendRepr(renderer, view.which == DictView::kKeys ? entry.key : entry.value,
                           out)) {
      return false;
    }
  }
  return true;
}

void AppendRange(const Range& range, std::string* out) {
  *out += fmt::format("range({}, {}", range.start, range.stop);
  if (range.step != 1) *out += fmt::format(", {}", range.step);
  *out += ')';
}

bool AppendContainer(Renderer& renderer, const Value& value, std::string* out) {
  switch (value.kind()) {
    case Kind::kList:
      *out += '[';
      if (!AppendItems(renderer, value.items(), out)) return false;
      *out += ']';
      return true;
    case Kind::kTuple:
      *out += '(';
      if (!AppendItems(renderer, value.items(), out)) return false;
      *out += value.sequence().size == 1 ? ",)" : ")";
      return true;
    case Kind::kDict:
      return AppendEntries(renderer, value.dict(), out);
    case Kind::kDictView:
      *out += TypeName(value);
      *out += "([";
      if (!AppendView(renderer, value.as<DictView>(), out)) return false;
      *out += "])";
      return true;
    case Kind::kNamespace:
      *out += "<Namespace ";
      if (!AppendEntries(renderer, value.as<Namespace>().attributes, out)) return false;
      *out += '>';
      return true;
    default:
      return true;
  }
}

// Objects that nobody prints on purpose. Python shows an address; ours is not told.
bool AppendObject(Renderer& renderer, const Value& value, std::string* out) {
  switch (value.kind()) {
    case Kind::kMacro: {
      const std::string_view name = value.as<Macro>().definition->name;
      *out += "<Macro ";
      if (name.empty()) {
        *out += "anonymous";
      } else {
        AppendQuoted(name, out);
      }
      *out += '>';
      return true;
    }
    case Kind::kLoop: {
      auto& loop = value.as_mutable<LoopState>();
      const auto length = loop.Length(renderer);
      if (!length) return false;
      *out += fmt::format("<LoopContext {}/{}>", loop.index0 + 1, *length);
      return true;
    }
    case Kind::kFunction:
      *out += fmt::format("<function {}>", value.as<Function>().name);
      return true;
    case Kind::kMethod:
      *out += fmt::format("<built-in method {} of {} object>", value.as<BoundMethod>().method->name,
                          TypeName(value.as<BoundMethod>().self));
      return true;
    default:
      *out += fmt::format("<{} object>", TypeName(value));
      return true;
  }
}

void AppendEscape(char32_t c, std::string* out) {
  const auto code = static_cast<unsigned>(c);
  *out += code < 0x100     ? fmt::format("\\x{:02x}", code)
          : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                           : fmt::format("\\U{:08x}", code);
}

}  // namespace

void AppendQuoted(std::string_view text, std::string* out) {
  const bool double_quotes = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = double_quotes ? '"' : '\'';
  *out += quote;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const char32_t c = DecodeChar(text, &i);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      *out += '\\';
      *out += static_cast<char>(c);
    } else if (c == '\n') {
      *out += "\\n";
    } else if (c == '\r') {
      *out += "\\r";
    } else if (c == '\t') {
      *out += "\\t";
    } else if (IsPrintable(c)) {
      out->append(text.substr(begin, i - begin));
    } else {
      AppendEscape(c, out);
    }
  }
  *out += quote;
}

std::string EscapeNonAscii(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = DecodeChar(text, &i);
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      AppendEscape(c, &out);
    }
  }
  return out;
}

bool AppendRepr(Renderer& renderer, const Value& value, std::string* out) {
  if (!renderer.Step() || !renderer.AllowText(out->size())) return false;
  switch (value.kind()) {
    case Kind::kString:
      if (!renderer.StepText(value.text().size() * 4)) return false;
      if (value.string().markup) *out += "Markup(";
      AppendQuoted(value.text(), out);
      if (value.string().markup) *out += ')';
      return true;
    case Kind::kUndefined:
      *out += "Undefined";
      return true;
    case Kind::kNone:
      *out += "None";
      return true;
    case Kind::kBool:
      *out += value.boolean() ? "True" : "False";
      return true;
    case Kind::kInt:
      *out += fmt::format_int(value.integer()).c_str();
      return true;
    case Kind::kFloat:
      *out += FormatFloat(value.real());
      return true;
    case Kind::kRange:
      AppendRange(value.as<Range>(), out);
      return true;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kNamespace: {
      const Renderer::Depth depth(&renderer);
      return depth.Ok() && AppendContainer(renderer, value, out);
    }
    default:
      return AppendObject(renderer, value, out);
  }
}

bool AppendText(Renderer& renderer, const Value& value, std::string* out) {
  switch (value.kind()) {
    case Kind::kError:
      return false;
    case Kind::kUndefined:
      return true;
    case Kind::kString:
      if (!renderer.StepText(value.text().size()) ||
          !renderer.AllowText(out->size() + value.text().size())) {
        return false;
      }
      out->append(value.text());
      return true;
    default:
      return AppendRepr(renderer, value, out);
  }
}

Value ToText(Renderer& renderer, const Value& value) {
  if (value.is_string()) {
    return value.string().markup ? renderer.BorrowText(value.text()) : value;
  }
  std::string text;
  return AppendText(renderer, value, &text) ? renderer.Text(text) : Value::Error();
}

Value ToSoftText(Renderer& renderer, const Value& value) {
  return value.is_string() ? value : ToText(renderer, value);
}

}  // namespace tonnage::chat
