#include "chat/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chat/number.h"
#include "chat/repr.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

bool IsAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Reads a number; -1 when there is none. False when it is absurdly large.
bool ReadCount(std::string_view* text, std::int64_t* value) {
  for (bool first = true; !text->empty() && text->front() >= '0' && text->front() <= '9';
       first = false) {
    *value = (first ? 0 : *value) * 10 + (text->front() - '0');
    if (*value > INT32_MAX) return false;
    text->remove_prefix(1);
  }
  return true;
}

void InsertGroups(std::string* digits, char separator, std::size_t group) {
  for (std::size_t at = digits->size(); at > group; at -= group)
    digits->insert(at - group, 1, separator);
}

// The whole digits of a number with its grouping, made at least `width` long with zeros.
std::string Group(std::string whole, char separator, std::size_t group, std::int64_t width) {
  if (separator == 0) {
    if (static_cast<std::int64_t>(whole.size()) < width)
      whole.insert(0, static_cast<std::size_t>(width) - whole.size(), '0');
    return whole;
  }
  // Zeros until the grouped text is long enough: it never begins with a separator.
  auto grouped_size = [&](std::size_t n) { return static_cast<std::int64_t>(n + (n - 1) / group); };
  std::size_t digits = whole.size();
  if (grouped_size(digits) < width) {
    digits = static_cast<std::size_t>(width) - static_cast<std::size_t>(width) / (group + 1);
    if (grouped_size(digits) < width) ++digits;
    digits = std::max(digits, whole.size());
    whole.insert(0, digits - whole.size(), '0');
  }
  InsertGroups(&whole, separator, group);
  return whole;
}

struct NumberText {
  bool negative;
  std::string prefix;  // "0x"
  std::string whole;
  std::string rest;  // from the point or the exponent on
  std::size_t group = 3;
};

bool AppendNumber(Renderer& renderer, const NumberText& number, const FormatSpec& spec,
                  std::string* out) {
  const std::int64_t allowed =
      std::max<std::int64_t>(spec.width, 0) + static_cast<std::int64_t>(number.rest.size());
  if (!renderer.AllowText(out->size() + static_cast<std::size_t>(allowed) * spec.fill.size()))
    return false;
  std::string sign;
  if (number.negative) {
    sign = "-";
  } else if (spec.sign != '-') {
    sign = spec.sign;
  }
  sign += number.prefix;
  const char align = spec.align ? spec.align : spec.zero ? '=' : '>';
  const std::string_view fill = spec.zero && spec.align == 0 ? std::string_view("0") : spec.fill;
  const auto others = static_cast<std::int64_t>(sign.size() + number.rest.size());
  const bool zeros = fill == "0" && align == '=';
  const std::string whole =
      Group(number.whole, spec.grouping, number.group, zeros ? spec.width - others : -1);
  const std::string body = whole + number.rest;
  if (align == '=') {
    *out += sign;
    AppendPadded(body, spec.width - static_cast<std::int64_t>(sign.size()), fill, '>', out);
  } else {
    AppendPadded(sign + body, spec.width, fill, align, out);
  }
  return true;
}

// Digits without a type but with a precision: like g, but an exponent comes one digit earlier, and
// a number without one keeps a digit after its point.
std::string UntypedDigits(double magnitude, int precision, bool alternate) {
  const int kept = std::max(precision, 1);
  std::string scientific = FloatDigits(magnitude, 'e', kept - 1, alternate);
  const std::size_t e = scientific.find('e');
  if (magnitude != 0 && std::atoi(scientific.c_str() + e + 1) == kept - 1) {
    std::size_t end =
        e;  // all digits stand before the point, which leaves no room for one after it
    if (scientific.find('.') < e) {
      while (scientific[end - 1] == '0') --end;
      if (scientific[end - 1] == '.') --end;
    }
    return scientific.erase(end, e - end);
  }
  std::string digits = FloatDigits(magnitude, 'g', precision, alternate);
  if (digits.find_first_of(".e") == digits.npos) digits += ".0";
  return digits;
}

bool AppendFloat(Renderer& renderer, double value, FormatSpec spec, std::string* out) {
  NumberText number{
      .negative = std::signbit(value) && !std::isnan(value), .prefix = {}, .whole = {}, .rest = {}};
  double magnitude = std::fabs(value);
  const bool percent = spec.type == '%';
  if (percent) magnitude *= 100;
  if (spec.precision > (1 << 20) ||
      !renderer.AllowText(static_cast<std::size_t>(std::max<std::int64_t>(spec.precision, 0)))) {
    renderer.Fail("a format's precision is too large");
    return false;
  }
  const auto precision = static_cast<int>(spec.precision);
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
    if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') digits = Upper(digits);
  } else if (spec.type == 0 && precision < 0) {
    digits = FormatFloat(magnitude);
  } else if (spec.type == 0) {
    digits = UntypedDigits(magnitude, precision, spec.alternate);
  } else {
    const char type = percent ? 'f' : spec.type == 'n' ? 'g' : spec.type;
    digits = FloatDigits(magnitude, type, precision < 0 ? 6 : precision, spec.alternate);
  }
  const std::size_t whole =
      std::isfinite(value) ? digits.find_first_not_of("0123456789") : digits.npos;
  number.whole = digits.substr(0, whole);
  if (whole != digits.npos) number.rest = digits.substr(whole);
  if (percent) number.rest += '%';
  if (!std::isfinite(value)) {
    number.rest = number.whole + number.rest;
    number.whole.clear();
    spec.grouping = 0;
  }
  return AppendNumber(renderer, number, spec, out);
}

bool AppendInteger(Renderer& renderer, std::int64_t value, const FormatSpec& spec,
                   std::string* out) {
  auto refuse = [&](std::string_view what) {
    renderer.Fail(fmt::format("{} is not allowed when formatting an integer", what));
    return false;
  };
  if (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    return AppendFloat(renderer, static_cast<double>(value), spec, out);
  }
  if (spec.precision >= 0) return refuse("a precision");
  const auto magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  NumberText number{.negative = value < 0, .prefix = {}, .whole = {}, .rest = {}};
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      number.whole = IntegerDigits(magnitude, 10, false);
      if (spec.type == 'n' && spec.grouping) return refuse("a separator with 'n'");
      break;
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      if (spec.grouping == ',') return refuse("a comma with this type");
      number.whole = IntegerDigits(magnitude,
                                   spec.type == 'b'   ? 2
                                   : spec.type == 'o' ? 8
                                                      : 16,
                                   spec.type == 'X');
      if (spec.alternate) number.prefix = {'0', spec.type};
      number.group = 4;
      break;
    case 'c':
      if (spec.sign != '-' || spec.alternate || spec.grouping) return refuse("a sign with 'c'");
      if (value < 0 || value >= 0x110000) return refuse("this code point");
      AppendChar(static_cast<char32_t>(value), &number.rest);
      if (!renderer.AllowText(static_cast<std::size_t>(std::max<std::int64_t>(spec.width, 0)) *
                              spec.fill.size()))
        return false;
      AppendPadded(number.rest, spec.width, spec.zero && !spec.align ? "0" : spec.fill,
                   spec.align && spec.align != '=' ? spec.align
                   : spec.align || spec.zero       ? '>'
                                                   : '<',
                   out);
      return true;
    default:
      return refuse(fmt::format("the type '{}'", spec.type));
  }
  return AppendNumber(renderer, number, spec, out);
}

bool AppendString(Renderer& renderer, std::string_view text, const FormatSpec& spec,
                  std::string* out) {
  if (spec.sign != '-' || spec.alternate || spec.grouping || spec.align == '=' ||
      (spec.type && spec.type != 's')) {
    renderer.Fail("this format does not suit a string");
    return false;
  }
  if (spec.precision >= 0) text = text.substr(0, OffsetOfChar(text, spec.precision));
  const std::string_view fill = spec.zero && !spec.align ? std::string_view("0") : spec.fill;
  if (!renderer.AllowText(out->size() + text.size() +
                          static_cast<std::size_t>(std::max<std::int64_t>(spec.width, 0)) *
                              fill.size()))
    return false;
  AppendPadded(text, spec.width, fill, spec.align ? spec.align : '<', out);
  return true;
}

}  // namespace

std::string FloatDigits(double magnitude, char type, int precision, bool alternate) {
  char format[8] = "%";
  std::snprintf(format, sizeof format, "%%%s.*%c", alternate ? "#" : "", type);
  const int size = std::snprintf(nullptr, 0, format, precision, magnitude);
  std::string digits(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(digits.data(), digits.size(), format, precision, magnitude);
  digits.pop_back();
  return digits;
}

std::string IntegerDigits(std::uint64_t magnitude, int base, bool upper) {
  const std::string_view symbols = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.push_back(symbols[magnitude % static_cast<std::uint64_t>(base)]);
    magnitude /= static_cast<std::uint64_t>(base);
  } while (magnitude != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

void AppendPadded(std::string_view text, std::int64_t width, std::string_view fill, char align,
                  std::string* out) {
  const std::int64_t padding = width < 0 ? 0 : std::max<std::int64_t>(width - CountChars(text), 0);
  const std::int64_t before = align == '>' ? padding : align == '^' ? padding / 2 : 0;
  for (std::int64_t i = 0; i < before; ++i) *out += fill;
  *out += text;
  for (std::int64_t i = before; i < padding; ++i) *out += fill;
}

bool ParseFormatSpec(Renderer& renderer, std::string_view text, FormatSpec* spec) {
  auto malformed = [&] {
    renderer.Fail("a format specification is malformed");
    return false;
  };
  if (!text.empty()) {
    std::size_t after_fill = 0;
    DecodeChar(text, &after_fill);
    if (after_fill < text.size() && IsAlign(text[after_fill])) {
      spec->fill = text.substr(0, after_fill);
      spec->align = text[after_fill];
      text.remove_prefix(after_fill + 1);
    } else if (IsAlign(text[0])) {
      spec->align = text[0];
      text.remove_prefix(1);
    }
  }
  auto take = [&text](std::string_view any) -> char {
    if (text.empty() || any.find(text[0]) == any.npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- ")) spec->sign = sign;
  spec->alternate = take("#") != 0;
  spec->zero = take("0") != 0;
  if (!ReadCount(&text, &spec->width)) return malformed();
  if (spec->zero && spec->width < 0) spec->width = 0;
  spec->grouping = take(",_");
  if (spec->grouping && take(",_")) return malformed();
  if (take(".")) {
    if (!ReadCount(&text, &spec->precision) || spec->precision < 0) return malformed();
  }
  if (text.size() > 1) return malformed();
  if (!text.empty()) spec->type = text[0];
  return true;
}

bool AppendFormatted(Renderer& renderer, const Value& value, std::string_view text,
                     std::string* out) {
  if (text.empty()) return AppendText(renderer, value, out);
  FormatSpec spec;
  if (!value.is_number() && !value.is_string()) {
    renderer.Fail(fmt::format("a {} cannot be formatted with '{}'", TypeName(value), text));
    return false;
  }
  if (!ParseFormatSpec(renderer, text, &spec)) return false;
  if (value.is_string()) return AppendString(renderer, value.text(), spec, out);
  if (value.is_integral()) return AppendInteger(renderer, value.integer(), spec, out);
  if (spec.type && std::string_view("eEfFgGn%").find(spec.type) == std::string_view::npos) {
    renderer.Fail(fmt::format("the type '{}' is not allowed when formatting a float", spec.type));
    return false;
  }
  return AppendFloat(renderer, value.real(), spec, out);
}

}  // namespace tonnage::chat
