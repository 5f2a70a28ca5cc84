// The methods of str. On markup they give markup again.
#include <algorithm>

#include "chat/arguments.h"
#include "chat/format.h"
#include "chat/iterate.h"
#include "chat/markup.h"
#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/repr.h"
#include "chat/strings.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

// New text of the same sort as `self`.
Value Like(Renderer& renderer, const Value& self, std::string_view text) {
  return renderer.Text(text, self.string().markup);
}
// A part of `self`'s own text.
Value Part(Renderer& renderer, const Value& self, std::string_view text) {
  return renderer.BorrowText(text, self.string().markup);
}

template <std::string (*kMap)(std::string_view)>
Value Mapped(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a string's method")) return Value::Error();
  if (!renderer.StepText(self.text().size() * 8)) return Value::Error();
  return Like(renderer, self, kMap(self.text()));
}

template <bool (*kIs)(std::string_view)>
Value Is(Renderer& renderer, Value self, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "a string's method")) return Value::Error();
  if (!renderer.StepText(self.text().size())) return Value::Error();
  return Value::Bool(kIs(self.text()));
}

template <bool kLeft, bool kRight>
Value StripMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "strip", {"chars"}, 0, 1)) return Value::Error();
  if (!renderer.StepText(self.text().size())) return Value::Error();
  const Value chars = p.Or(0, Value::None());
  if (!chars.is_none() && !chars.is_string())
    return renderer.Fail("strip() wants a string or none");
  return Part(renderer, self,
              Strip(self.text(), chars.is_none() ? nullptr : &chars.string(), kLeft, kRight));
}

// An optional separator and count, as split and rsplit take them.
template <bool kFromRight>
Value SplitMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, kFromRight ? "rsplit" : "split", {"sep", "maxsplit"}))
    return Value::Error();
  const auto count = IntegerArgument(renderer, p.Or(1, Value::Int(-1)), "split");
  if (!count || !renderer.StepText(self.text().size())) return Value::Error();
  const Value separator = p.Or(0, Value::None());
  ListBuilder list(renderer);
  const EmitPart emit = [&](std::string_view part) {
    return renderer.StepText(part.size()) && list.Add(Part(renderer, self, part));
  };
  if (separator.is_none()) {
    kFromRight ? SplitSpaceRight(self.text(), *count, emit) : SplitSpace(self.text(), *count, emit);
  } else {
    std::string_view text;
    if (!TextArgument(renderer, separator, "split", &text)) return Value::Error();
    if (text.empty()) return renderer.Fail("split() wants a separator that is not empty");
    kFromRight ? SplitRight(self.text(), text, *count, emit)
               : Split(self.text(), text, *count, emit);
  }
  if (renderer.failed()) return Value::Error();
  if (kFromRight) std::reverse(list.items().begin(), list.items().end());
  return list.Finish();
}

Value SplitLinesMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "splitlines", {"keepends"})) return Value::Error();
  ListBuilder list(renderer);
  SplitLines(self.text(), IsTrue(p.Or(0, Value::Bool(false))), [&](std::string_view line) {
    return renderer.StepText(line.size()) && list.Add(Part(renderer, self, line));
  });
  return renderer.failed() ? Value::Error() : list.Finish();
}

// The part of `self` that start and end (parameters 1 and 2) leave, in bytes. False when they
// select nothing at all, which not even an empty string is found in.
struct Window {
  std::size_t begin = 0, end = 0;
  bool valid = true;
};
bool MakeWindow(Renderer& renderer, const Value& self, const Value& start, const Value& end,
                Window* window) {
  window->end = self.text().size();
  if ((start.is_missing() || start.is_none()) && (end.is_missing() || end.is_none())) return true;
  const std::int64_t size = renderer.Chars(self);
  std::int64_t bounds[2] = {0, size};
  const Value parts[2] = {start, end};
  for (int i = 0; i < 2; ++i) {
    if (parts[i].is_missing() || parts[i].is_none()) continue;
    const auto index = IntegerArgument(renderer, parts[i], "a string's method");
    if (!index) return false;
    bounds[i] = *index < 0 ? std::max<std::int64_t>(*index + size, 0) : *index;
  }
  bounds[1] = std::min(bounds[1], size);
  window->valid = bounds[0] <= bounds[1];
  if (!window->valid) return true;
  if (!renderer.StepText(self.text().size())) return false;
  window->begin = OffsetOfChar(self.text(), bounds[0]);
  window->end = OffsetOfChar(self.text(), bounds[1]);
  return true;
}

// The character number of the first or last occurrence; -1 when there is none; nothing when that
// failed.
template <bool kLast>
std::optional<std::int64_t> FindIndex(Renderer& renderer, const Value& self,
                                      const Arguments& arguments) {
  Parameters<3> p;
  std::string_view what;
  Window window;
  if (!p.Bind(renderer, arguments, "find", {"sub", "start", "end"}, 1, 3) ||
      !TextArgument(renderer, p[0], "find", &what) ||
      !MakeWindow(renderer, self, p[1], p[2], &window) || !renderer.StepText(self.text().size())) {
    return {};
  }
  if (!window.valid) return -1;
  const std::string_view within = self.text().substr(window.begin, window.end - window.begin);
  const std::size_t at = kLast ? within.rfind(what) : within.find(what);
  if (at == within.npos) return -1;
  return CountChars(self.text().substr(0, window.begin + at));
}

template <bool kLast>
Value FindMethodOf(Renderer& renderer, Value self, const Arguments& arguments) {
  const auto index = FindIndex<kLast>(renderer, self, arguments);
  return index ? Value::Int(*index) : Value::Error();
}

template <bool kLast>
Value IndexMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  const auto index = FindIndex<kLast>(renderer, self, arguments);
  if (!index) return Value::Error();
  return *index < 0 ? renderer.Fail("the text to look for is not there") : Value::Int(*index);
}

Value CountMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<3> p;
  std::string_view what;
  Window window;
  if (!p.Bind(renderer, arguments, "count", {"sub", "start", "end"}, 1, 3) ||
      !TextArgument(renderer, p[0], "count", &what) ||
      !MakeWindow(renderer, self, p[1], p[2], &window) || !renderer.StepText(self.text().size())) {
    return Value::Error();
  }
  if (!window.valid) return Value::Int(0);
  const std::string_view within = self.text().substr(window.begin, window.end - window.begin);
  if (what.empty()) return Value::Int(CountChars(within) + 1);
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = within.find(what, at)) != within.npos; at += what.size()) ++count;
  return Value::Int(count);
}

template <bool kEnd>
Value AffixMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<3> p;
  Window window;
  const std::string_view name = kEnd ? "endswith" : "startswith";
  if (!p.Bind(renderer, arguments, name, {"affix", "start", "end"}, 1, 3) ||
      !MakeWindow(renderer, self, p[1], p[2], &window)) {
    return Value::Error();
  }
  const std::span<const Value> affixes =
      p[0].is(Kind::kTuple) ? p[0].items() : std::span<const Value>(&p[0], 1);
  const std::string_view within = self.text().substr(window.begin, window.end - window.begin);
  for (const Value& affix : affixes) {
    std::string_view text;
    if (!TextArgument(renderer, affix, name, &text) || !renderer.StepText(text.size()))
      return Value::Error();
    if (window.valid && (kEnd ? within.ends_with(text) : within.starts_with(text)))
      return Value::Bool(true);
  }
  return Value::Bool(false);
}

Value ReplaceMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<3> p;
  std::string_view from;
  if (!p.Bind(renderer, arguments, "replace", {"old", "new", "count"}, 2, 3) ||
      !TextArgument(renderer, p[0], "replace", &from)) {
    return Value::Error();
  }
  const auto count = IntegerArgument(renderer, p.Or(2, Value::Int(-1)), "replace");
  const Value to = self.string().markup ? Escape(renderer, p[1]) : p[1];
  std::string_view to_text;
  if (!count || to.is_error() || !TextArgument(renderer, to, "replace", &to_text))
    return Value::Error();
  return Replace(renderer, self.text(), from, to_text, *count, self.string().markup);
}

Value JoinMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "join", {"iterable"}, 1, 1)) return Value::Error();
  Iterator* iterator = Iterate(renderer, p[0]);
  if (iterator == nullptr) return Value::Error();
  std::string out;
  Value item;
  Iterator::Step step;
  for (bool first = true; (step = iterator->Next(renderer, &item)) == Iterator::kItem;
       first = false) {
    if (self.string().markup) item = Escape(renderer, item);
    if (item.is_error()) return item;
    if (!item.is_string())
      return renderer.Fail(fmt::format("join() wants strings, not a {}", TypeName(item)));
    if (!first) out += self.text();
    if (!AppendText(renderer, item, &out)) return Value::Error();
  }
  return step == Iterator::kFailed ? Value::Error() : Like(renderer, self, out);
}

// kAlign as in format specifications: '<' is ljust.
template <char kAlign>
Value JustifyMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "a string's method", {"width", "fillchar"}, 1, 2))
    return Value::Error();
  const auto width = IntegerArgument(renderer, p[0], "a string's method");
  if (!width) return Value::Error();
  std::string_view fill = " ";
  if (!p[1].is_missing()) {
    if (!p[1].is_string() || renderer.Chars(p[1]) != 1)
      return renderer.Fail("the fill character must be one character");
    fill = p[1].text();
  }
  return Justify(renderer, self, *width, fill, kAlign);
}

Value ZeroFill(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "zfill", {"width"}, 1, 1)) return Value::Error();
  const auto width = IntegerArgument(renderer, p[0], "zfill");
  if (!width) return Value::Error();
  const std::int64_t chars = renderer.Chars(self);
  if (*width <= chars) return self;
  const std::int64_t zeros = *width - chars;
  if (!renderer.AllowText(static_cast<std::size_t>(zeros))) return Value::Error();
  const std::string_view text = self.text();
  const bool sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  std::string out(text.substr(0, sign ? 1 : 0));
  out.append(static_cast<std::size_t>(zeros), '0');
  out += text.substr(sign ? 1 : 0);
  return Like(renderer, self, out);
}

template <bool kLast>
Value PartitionMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  std::string_view separator;
  if (!p.Bind(renderer, arguments, "partition", {"sep"}, 1, 1) ||
      !TextArgument(renderer, p[0], "partition", &separator) ||
      !renderer.StepText(self.text().size())) {
    return Value::Error();
  }
  if (separator.empty()) return renderer.Fail("partition() wants a separator that is not empty");
  const std::string_view text = self.text();
  const std::size_t at = kLast ? text.rfind(separator) : text.find(separator);
  std::string_view parts[3] = {text, {}, {}};
  if (at != text.npos) {
    parts[0] = text.substr(0, at);
    parts[1] = text.substr(at, separator.size());
    parts[2] = text.substr(at + separator.size());
  } else if (kLast) {
    std::swap(parts[0], parts[2]);
  }
  const Value values[] = {Part(renderer, self, parts[0]), Part(renderer, self, parts[1]),
                          Part(renderer, self, parts[2])};
  return renderer.failed() ? Value::Error() : renderer.Tuple(values);
}

template <bool kEnd>
Value RemoveAffix(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  std::string_view affix;
  if (!p.Bind(renderer, arguments, "a string's method", {"affix"}, 1, 1) ||
      !TextArgument(renderer, p[0], "a string's method", &affix)) {
    return Value::Error();
  }
  std::string_view text = self.text();
  if (!affix.empty() && (kEnd ? text.ends_with(affix) : text.starts_with(affix))) {
    text = kEnd ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size());
  }
  return Part(renderer, self, text);
}

Value ExpandTabs(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "expandtabs", {"tabsize"})) return Value::Error();
  const auto tab = IntegerArgument(renderer, p.Or(0, Value::Int(8)), "expandtabs");
  if (!tab || !renderer.StepText(self.text().size())) return Value::Error();
  std::string out;
  std::int64_t column = 0;
  const std::string_view text = self.text();
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const char32_t c = DecodeChar(text, &i);
    if (c == '\t') {
      const std::int64_t spaces = *tab > 0 ? *tab - column % *tab : 0;
      if (!renderer.AllowText(out.size() + static_cast<std::size_t>(spaces))) return Value::Error();
      out.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
    } else {
      out += text.substr(begin, i - begin);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return Like(renderer, self, out);
}

Value FormatMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  return FormatBraces(renderer, self, arguments, nullptr);
}

Value FormatMapMethod(Renderer& renderer, Value self, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "format_map", {"mapping"}, 1, 1)) return Value::Error();
  return FormatBraces(renderer, self, {}, &p[0]);
}

Value Refuse(Renderer& renderer, Value, const Arguments&) {
  return renderer.Fail("encode(), maketrans() and translate() are not supported in templates");
}

constexpr Method kStringMethods[] = {
    {"capitalize", Mapped<Capitalize>},
    {"casefold", Mapped<CaseFold>},
    {"center", JustifyMethod<'^'>},
    {"count", CountMethod},
    {"encode", Refuse},
    {"endswith", AffixMethod<true>},
    {"expandtabs", ExpandTabs},
    {"find", FindMethodOf<false>},
    {"format", FormatMethod},
    {"format_map", FormatMapMethod},
    {"index", IndexMethod<false>},
    {"isalnum", Is<IsAlnumText>},
    {"isalpha", Is<IsAlphaText>},
    {"isascii", Is<IsAscii>},
    {"isdecimal", Is<IsDecimalText>},
    {"isdigit", Is<IsDigitText>},
    {"isidentifier", Is<IsIdentifier>},
    {"islower", Is<IsLowerText>},
    {"isnumeric", Is<IsNumericText>},
    {"isprintable", Is<IsPrintableText>},
    {"isspace", Is<IsSpaceText>},
    {"istitle", Is<IsTitleText>},
    {"isupper", Is<IsUpperText>},
    {"join", JoinMethod},
    {"ljust", JustifyMethod<'<'>},
    {"lower", Mapped<Lower>},
    {"lstrip", StripMethod<true, false>},
    {"maketrans", Refuse},
    {"partition", PartitionMethod<false>},
    {"removeprefix", RemoveAffix<false>},
    {"removesuffix", RemoveAffix<true>},
    {"replace", ReplaceMethod},
    {"rfind", FindMethodOf<true>},
    {"rindex", IndexMethod<true>},
    {"rjust", JustifyMethod<'>'>},
    {"rpartition", PartitionMethod<true>},
    {"rsplit", SplitMethod<true>},
    {"rstrip", StripMethod<false, true>},
    {"split", SplitMethod<false>},
    {"splitlines", SplitLinesMethod},
    {"startswith", AffixMethod<false>},
    {"strip", StripMethod<true, true>},
    {"swapcase", Mapped<SwapCase>},
    {"title", Mapped<Title>},
    {"translate", Refuse},
    {"upper", Mapped<Upper>},
    {"zfill", ZeroFill},
};

}  // namespace

std::span<const Method> StringMethods() { return kStringMethods; }

}  // namespace tonnage::chat
