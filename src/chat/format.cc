#include "chat/format.h"

#include "chat/dict.h"
#include "chat/markup.h"
#include "chat/number.h"
#include "chat/number_format.h"
#include "chat/repr.h"
#include "chat/subscript.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

class BraceFormatter {
 public:
  BraceFormatter(Renderer& renderer, bool markup, const Arguments& arguments, const Value* mapping)
      : renderer_(renderer), markup_(markup), arguments_(arguments), mapping_(mapping) {}

  // `depth` is how far fields may nest in specifications.
  bool Format(std::string_view text, int depth, std::string* out) {
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t brace = std::min(text.find_first_of("{}", i), text.size());
      *out += text.substr(i, brace - i);
      if (!renderer_.StepText(brace - i) || !renderer_.AllowText(out->size())) return false;
      i = brace;
      if (i == text.size()) break;
      if (i + 1 < text.size() && text[i + 1] == text[i]) {
        *out += text[i];
        i += 2;
        continue;
      }
      if (text[i] == '}') return Fail("a single '}' in a format");
      const std::size_t end = FieldEnd(text, i + 1);
      if (end == text.npos) return Fail("a '{' in a format has no end");
      if (!Field(text.substr(i + 1, end - i - 1), depth, out)) return false;
      i = end + 1;
    }
    return true;
  }

 private:
  bool Fail(std::string message) {
    renderer_.Fail(std::move(message));
    return false;
  }

  static std::size_t FieldEnd(std::string_view text, std::size_t from) {
    int open = 1;
    for (std::size_t i = from; i < text.size(); ++i) {
      if (text[i] == '{') ++open;
      if (text[i] == '}' && --open == 0) return i;
    }
    return text.npos;
  }

  // name[!conversion][:specification]
  bool Field(std::string_view field, int depth, std::string* out) {
    std::size_t name_end = 0;
    for (bool bracket = false; name_end < field.size(); ++name_end) {
      const char c = field[name_end];
      if (c == '{') return Fail("a '{' in a format's field name");
      if (c == '[') bracket = true;
      if (c == ']') bracket = false;
      if (!bracket && (c == ':' || c == '!')) break;
    }
    const std::string_view name = field.substr(0, name_end);
    std::string_view rest = field.substr(name_end);
    char conversion = 0;
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        return Fail("a conversion in a format is malformed");
      conversion = rest[1];
      rest.remove_prefix(2);
    }
    if (!rest.empty()) rest.remove_prefix(1);
    Value value = Lookup(name);
    if (value.is_error() || !Convert(conversion, &value)) return false;
    if (depth == 0) return Fail("a format nests too deeply");
    std::string spec;
    if (!Format(rest, depth - 1, &spec)) return false;
    return Append(value, spec, out);
  }

  bool Append(const Value& value, std::string_view spec, std::string* out) {
    if (!markup_) return AppendFormatted(renderer_, value, spec, out);
    const bool is_markup = value.is_string() && value.string().markup;
    if (is_markup && !spec.empty()) return Fail("markup takes no format specification");
    if (is_markup) return AppendText(renderer_, value, out);
    std::string text;
    if (!AppendFormatted(renderer_, value, spec, &text)) return false;
    AppendEscaped(text, out);
    return true;
  }

  bool Convert(char conversion, Value* value) {
    if (conversion == 0) return true;
    if (conversion == 's') {
      *value = ToText(renderer_, *value);
      return !value->is_error();
    }
    if (conversion != 'r' && conversion != 'a')
      return Fail("a conversion in a format is none of r, s, a");
    std::string text;
    if (!AppendRepr(renderer_, *value, &text)) return false;
    if (conversion == 'a') text = EscapeNonAscii(text);
    *value = renderer_.Text(text);
    return !value->is_error();
  }

  Value Positional(std::int64_t index) {
    if (index < static_cast<std::int64_t>(arguments_.positional.size())) {
      return arguments_.positional[static_cast<std::size_t>(index)];
    }
    return renderer_.Fail(fmt::format("a format has no argument {}", index));
  }

  Value Named(std::string_view name) {
    if (mapping_ != nullptr) {
      if (!mapping_->is(Kind::kDict)) return renderer_.Fail("format_map() wants a dict");
      if (const Value* found = DictFindText(mapping_->dict(), name)) return *found;
    }
    for (const Keyword& keyword : arguments_.keywords) {
      if (keyword.name == name) return keyword.value;
    }
    return renderer_.Fail(fmt::format("a format has no argument '{}'", name));
  }

  Value First(std::string_view name, bool whole) {
    if (whole && name.empty()) {
      if (numbering_ == kManual) return renderer_.Fail("a format mixes numbered fields and others");
      numbering_ = kAutomatic;
      return Positional(automatic_++);
    }
    if (!AllDigits(name)) return Named(name);
    if (whole) {
      if (numbering_ == kAutomatic)
        return renderer_.Fail("a format mixes numbered fields and others");
      numbering_ = kManual;
    }
    return Positional(ParseInteger(name, 10).value_or(INT64_MAX));
  }

  Value Lookup(std::string_view name) {
    const std::size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = First(name.substr(0, first_end), first_end == name.size());
    for (std::size_t i = first_end; i < name.size() && !value.is_error();) {
      if (name[i] == '.') {
        const std::size_t end = std::min(name.find_first_of(".[", i + 1), name.size());
        if (end == i + 1) return renderer_.Fail("an empty attribute in a format");
        value = GetAttribute(renderer_, value, name.substr(i + 1, end - i - 1));
        i = end;
      } else if (name[i] == '[') {
        const std::size_t end = name.find(']', i);
        if (end == name.npos || end == i + 1)
          return renderer_.Fail("a subscript in a format is malformed");
        const std::string_view index = name.substr(i + 1, end - i - 1);
        const Value key = AllDigits(index) ? Value::Int(ParseInteger(index, 10).value_or(INT64_MAX))
                                           : renderer_.Text(index);
        if (key.is_error()) return key;
        value = GetItem(renderer_, value, key);
        i = end + 1;
      } else {
        return renderer_.Fail("only '.' or '[' may follow ']' in a format");
      }
    }
    return value;
  }

  Renderer& renderer_;
  const bool markup_;
  const Arguments& arguments_;
  const Value* const mapping_;
  enum { kUndecided, kAutomatic, kManual } numbering_ = kUndecided;
  std::int64_t automatic_ = 0;
};

}  // namespace

Value FormatBraces(Renderer& renderer, const Value& format, const Arguments& arguments,
                   const Value* mapping) {
  std::string out;
  BraceFormatter formatter(renderer, format.string().markup, arguments, mapping);
  if (!formatter.Format(format.text(), 2, &out)) return Value::Error();
  return renderer.Text(out, format.string().markup);
}

}  // namespace tonnage::chat
