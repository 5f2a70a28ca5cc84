// Filters that make text.
#include <algorithm>

#include "chat/arguments.h"
#include "chat/dict.h"
#include "chat/filters.h"
#include "chat/iterate.h"
#include "chat/markup.h"
#include "chat/operators.h"
#include "chat/pprint.h"
#include "chat/printf.h"
#include "chat/repr.h"
#include "chat/strings.h"
#include "chat/subscript.h"
#include "chat/text.h"
#include "chat/tojson.h"
#include "chat/wordwrap.h"

namespace tonnage::chat {
namespace {

// Text by way of a function on it; markup stays markup.
template <std::string (*kMap)(std::string_view)>
Value Mapped(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a filter")) return Value::Error();
  const Value text = ToSoftText(renderer, input);
  if (text.is_error() || !renderer.StepText(text.text().size() * 8)) return Value::Error();
  return renderer.Text(kMap(text.text()), text.string().markup);
}

// Upper case for what begins after white space, a hyphen or an opening bracket.
std::string TitleWords(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  bool in_separator = false;
  const auto flush = [&](std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    begin = end;
    if (word.empty()) return;
    std::size_t first = 0;
    DecodeChar(word, &first);
    out += Upper(word.substr(0, first));
    out += Lower(word.substr(first));
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const char32_t c = DecodeChar(text, &i);
    const bool separator =
        IsSpace(c) ||
        (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) != text.npos);
    if (separator != in_separator) flush(at);
    in_separator = separator;
  }
  flush(text.size());
  return out;
}

Value Default(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "default", {"default_value", "boolean"})) return Value::Error();
  const bool take = input.is_undefined() || (IsTrue(p.Or(1, Value::Bool(false))) && !IsTrue(input));
  if (!take) return input;
  return p[0].is_missing() ? renderer.BorrowText("") : p[0];
}

Value Attr(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  std::string_view name;
  if (!p.Bind(renderer, arguments, "attr", {"name"}, 1) ||
      !TextArgument(renderer, p[0], "attr", &name))
    return Value::Error();
  if (input.is_undefined()) return renderer.FailUndefined(input);
  const Value attribute = NativeAttribute(renderer, input, name);
  return attribute.is_missing() ? renderer.UndefinedAttribute(input, name) : attribute;
}

Value ReplaceFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<3> p;
  if (!p.Bind(renderer, arguments, "replace", {"old", "new", "count"}, 2)) return Value::Error();
  const Value count = p.Or(2, Value::None());
  const auto limit = IntegerArgument(renderer, count.is_none() ? Value::Int(-1) : count, "replace");
  const Value text = ToText(renderer, input);
  const Value from = ToText(renderer, p[0]);
  const Value to = ToText(renderer, p[1]);
  if (!limit || renderer.failed()) return Value::Error();
  return Replace(renderer, text.text(), from.text(), to.text(), *limit, false);
}

Value Trim(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "trim", {"chars"})) return Value::Error();
  const Value chars = p.Or(0, Value::None());
  if (!chars.is_none() && !chars.is_string()) return renderer.Fail("trim wants a string or none");
  const Value text = ToSoftText(renderer, input);
  if (text.is_error() || !renderer.StepText(text.text().size())) return Value::Error();
  return renderer.BorrowText(
      Strip(text.text(), chars.is_none() ? nullptr : &chars.string(), true, true),
      text.string().markup);
}

Value Center(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "center", {"width"})) return Value::Error();
  const auto width = IntegerArgument(renderer, p.Or(0, Value::Int(80)), "center");
  const Value text = ToSoftText(renderer, input);
  if (!width || text.is_error()) return Value::Error();
  return Justify(renderer, text, *width, " ", '^');
}

Value StringFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return BindNone(renderer, arguments, "string") ? ToSoftText(renderer, input) : Value::Error();
}

Value EscapeFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return BindNone(renderer, arguments, "escape") ? Escape(renderer, input) : Value::Error();
}

Value ForceEscape(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "forceescape")) return Value::Error();
  const Value text = ToText(renderer, input);
  return text.is_error() ? text : Escape(renderer, text);
}

Value Safe(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "safe")) return Value::Error();
  const Value text = ToSoftText(renderer, input);
  return text.is_error() ? text : renderer.BorrowText(text.text(), true);
}

Value StripTagsFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "striptags")) return Value::Error();
  const Value text = ToText(renderer, input);
  if (text.is_error() || !renderer.StepText(text.text().size() * 4)) return Value::Error();
  return renderer.Text(StripTags(text.text()));
}

Value Format(Renderer& renderer, const Value& input, const Arguments& arguments) {
  const Value text = ToSoftText(renderer, input);
  if (text.is_error()) return text;
  if (arguments.keywords.empty()) {
    const Value tuple = renderer.Tuple(arguments.positional);
    return tuple.is_error() ? tuple : FormatPercent(renderer, text, tuple);
  }
  if (!arguments.positional.empty()) {
    return renderer.Fail("format takes positional or keyword arguments, not both");
  }
  Dict* dict = NewDict(renderer, arguments.keywords.size());
  for (const Keyword& keyword : arguments.keywords) {
    if (dict == nullptr ||
        !DictSet(renderer, dict, renderer.BorrowText(keyword.name), keyword.value))
      return Value::Error();
  }
  return FormatPercent(renderer, text, Value::Of(Kind::kDict, dict));
}

Value Indent(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<3> p;
  if (!p.Bind(renderer, arguments, "indent", {"width", "first", "blank"})) return Value::Error();
  if (input.is_undefined()) return renderer.FailUndefined(input);
  std::string_view text;
  if (!TextArgument(renderer, input, "indent", &text)) return Value::Error();
  const bool markup = input.string().markup;
  std::string indent;
  const Value width = p.Or(0, Value::Int(4));
  if (width.is_string()) {
    indent = width.text();
  } else {
    const auto spaces = IntegerArgument(renderer, width, "indent");
    if (!spaces ||
        !renderer.AllowText(static_cast<std::size_t>(std::max<std::int64_t>(*spaces, 0))))
      return Value::Error();
    indent.assign(static_cast<std::size_t>(std::max<std::int64_t>(*spaces, 0)), ' ');
  }
  const bool blank = IsTrue(p.Or(2, Value::Bool(false)));
  std::string out = IsTrue(p.Or(1, Value::Bool(false))) ? indent : "";
  bool first = true;
  // A newline at the end gives one empty line more, as Jinja has it.
  const std::string with_end = std::string(text) + "\n";
  SplitLines(with_end, false, [&](std::string_view line) {
    if (!first) {
      out += '\n';
      if (blank || !line.empty()) out += indent;
    }
    first = false;
    out += line;
    return renderer.StepText(line.size() + indent.size()) && renderer.AllowText(out.size());
  });
  return renderer.failed() ? Value::Error() : renderer.Text(out, markup);
}

Value Truncate(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<4> p;
  if (!p.Bind(renderer, arguments, "truncate", {"length", "killwords", "end", "leeway"}))
    return Value::Error();
  const auto length = IntegerArgument(renderer, p.Or(0, Value::Int(255)), "truncate");
  const Value given_leeway = p.Or(3, Value::None());
  const auto leeway =
      IntegerArgument(renderer, given_leeway.is_none() ? Value::Int(5) : given_leeway, "truncate");
  const Value end = p[2].is_missing() ? renderer.BorrowText("...") : p[2];
  if (!length || !leeway || end.is_error()) return Value::Error();
  const auto end_size = Length(renderer, end);
  const auto size = end_size ? Length(renderer, input) : std::nullopt;
  if (!size) return Value::Error();
  if (*length < *end_size || *leeway < 0)
    return renderer.Fail("truncate wants a length of at least that of its end");
  const auto limit = *length > INT64_MAX - *leeway ? INT64_MAX : *length + *leeway;
  if (*size <= limit) return input;
  std::string_view text;
  if (!TextArgument(renderer, input, "truncate", &text) || !end.is_string())
    return renderer.Fail("truncate wants strings");
  text = text.substr(0, OffsetOfChar(text, *length - *end_size));
  if (!IsTrue(p.Or(1, Value::Bool(false)))) {
    if (const std::size_t space = text.rfind(' '); space != text.npos) text = text.substr(0, space);
  }
  const Value kept = renderer.Text(text, input.string().markup);
  return kept.is_error() ? kept : Arithmetic(renderer, Operator::kAdd, kept, end);
}

Value WordWrap(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<4> p;
  if (!p.Bind(renderer, arguments, "wordwrap",
              {"width", "break_long_words", "wrapstring", "break_on_hyphens"})) {
    return Value::Error();
  }
  if (input.is_undefined()) return renderer.FailUndefined(input);
  std::string_view text;
  std::string_view wrap = "\n";
  const auto width = IntegerArgument(renderer, p.Or(0, Value::Int(79)), "wordwrap");
  if (!width || !TextArgument(renderer, input, "wordwrap", &text)) return Value::Error();
  if (!p[2].is_missing() && !p[2].is_none() && !TextArgument(renderer, p[2], "wordwrap", &wrap))
    return Value::Error();
  const WrapOptions options{.width = *width,
                            .break_long_words = IsTrue(p.Or(1, Value::Bool(true))),
                            .break_on_hyphens = IsTrue(p.Or(3, Value::Bool(true)))};
  std::string out;
  bool first_paragraph = true;
  SplitLines(text, false, [&](std::string_view paragraph) {
    if (options.width <= 0) {
      renderer.Fail("wordwrap wants a width above 0");
      return false;
    }
    if (!first_paragraph) out += wrap;
    first_paragraph = false;
    bool first = true;
    WrapParagraph(paragraph, options, [&](const std::string& line) {
      if (!first) out += wrap;
      first = false;
      out += line;
      return renderer.StepText(line.size() + wrap.size()) && renderer.AllowText(out.size());
    });
    return renderer.StepText(paragraph.size() * 4);
  });
  return renderer.failed() ? Value::Error() : renderer.Text(out, false);
}

Value WordCount(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "wordcount")) return Value::Error();
  const Value text = ToSoftText(renderer, input);
  if (text.is_error() || !renderer.StepText(text.text().size())) return Value::Error();
  std::int64_t words = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < text.text().size();) {
    const bool word = IsWordChar(DecodeChar(text.text(), &i));
    words += word && !in_word;
    in_word = word;
  }
  return Value::Int(words);
}

// Percent-encoding; in a query a space is '+' and '/' is encoded.
bool AppendUrlQuoted(Renderer& renderer, const Value& value, bool query, std::string* out) {
  const Value text = ToText(renderer, value);
  if (text.is_error() || !renderer.StepText(text.text().size())) return false;
  for (const char c : text.text()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       (c != '\0' && std::string_view("_.-~").find(c) != std::string_view::npos) ||
                       (c == '/' && !query);
    if (plain) {
      *out += c;
    } else if (c == ' ' && query) {
      *out += '+';
    } else {
      *out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return renderer.AllowText(out->size());
}

Value UrlEncode(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "urlencode")) return Value::Error();
  std::string out;
  if (input.is_string() || !IsIterable(input)) {
    return AppendUrlQuoted(renderer, input, false, &out) ? renderer.Text(out) : Value::Error();
  }
  ListBuilder pairs(renderer);
  const Value source =
      input.is(Kind::kDict)
          ? renderer.Make(Kind::kDictView, DictView{DictView::kItems, &input.dict()})
          : input;
  if (source.is_error() || !pairs.AddAll(source)) return Value::Error();
  for (const Value& item : pairs.items()) {
    ListBuilder pair(renderer);
    if (!pair.AddAll(item)) return Value::Error();
    if (pair.size() != 2) return renderer.Fail("urlencode wants pairs");
    if (!out.empty()) out += '&';
    if (!AppendUrlQuoted(renderer, pair.items()[0], true, &out)) return Value::Error();
    out += '=';
    if (!AppendUrlQuoted(renderer, pair.items()[1], true, &out)) return Value::Error();
  }
  return renderer.Text(out);
}

Value XmlAttr(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "xmlattr", {"autospace"})) return Value::Error();
  if (input.is_undefined()) return renderer.FailUndefined(input);
  if (!input.is(Kind::kDict))
    return renderer.Fail(fmt::format("xmlattr wants a dict, not a {}", TypeName(input)));
  std::string out;
  for (std::uint32_t i = 0; i < input.dict().size; ++i) {
    const Entry& entry = input.dict().entries[i];
    if (entry.value.is_none() || entry.value.is_undefined()) continue;
    std::string_view key;
    if (!TextArgument(renderer, entry.key, "xmlattr", &key)) return Value::Error();
    if (key.find_first_of(" \t\n\r\f\v/>=") != key.npos)
      return renderer.Fail("an attribute's name has a character that it must not have");
    const Value name = Escape(renderer, entry.key);
    const Value value = Escape(renderer, entry.value);
    if (renderer.failed()) return Value::Error();
    if (!out.empty()) out += ' ';
    out += fmt::format("{}=\"{}\"", name.text(), value.text());
    if (!renderer.AllowText(out.size())) return Value::Error();
  }
  if (!out.empty() && IsTrue(p.Or(0, Value::Bool(true)))) out.insert(0, 1, ' ');
  return renderer.Text(out);
}

Value Urlize(Renderer& renderer, const Value&, const Arguments&) {
  return renderer.Fail("the filter 'urlize' is not supported: prompts are not HTML");
}

constexpr Filter kFilters[] = {
    {"attr", Attr},
    {"capitalize", Mapped<Capitalize>},
    {"center", Center},
    {"d", Default},
    {"default", Default},
    {"e", EscapeFilter},
    {"escape", EscapeFilter},
    {"forceescape", ForceEscape},
    {"format", Format},
    {"indent", Indent},
    {"lower", Mapped<Lower>},
    {"pprint", PrettyPrint},
    {"replace", ReplaceFilter},
    {"safe", Safe},
    {"string", StringFilter},
    {"striptags", StripTagsFilter},
    {"title", Mapped<TitleWords>},
    {"tojson", ToJson},
    {"trim", Trim},
    {"truncate", Truncate},
    {"upper", Mapped<Upper>},
    {"urlencode", UrlEncode},
    {"urlize", Urlize},
    {"wordcount", WordCount},
    {"wordwrap", WordWrap},
    {"xmlattr", XmlAttr},
};

}  // namespace

std::span<const Filter> TextFilters() { return kFilters; }

}  // namespace tonnage::chat
