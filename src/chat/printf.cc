#include "chat/printf.h"

#include <cmath>

#include "chat/dict.h"
#include "chat/markup.h"
#include "chat/number.h"
#include "chat/number_format.h"
#include "chat/repr.h"
#include "chat/subscript.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(Renderer& renderer, const Value& format, const Value& arguments)
      : renderer_(renderer),
        text_(format.text()),
        markup_(format.string().markup),
        arguments_(arguments) {}

  Value Run() {
    while (pos_ < text_.size()) {
      const std::size_t percent = std::min(text_.find('%', pos_), text_.size());
      out_ += text_.substr(pos_, percent - pos_);
      pos_ = percent + 1;
      if (percent < text_.size() && !Directive()) return Value::Error();
      if (!renderer_.Step() || !renderer_.AllowText(out_.size())) return Value::Error();
    }
    const bool is_mapping = !arguments_.is(Kind::kTuple) && !arguments_.is_string() &&
                            (arguments_.is(Kind::kDict) || arguments_.is(Kind::kList) ||
                             arguments_.is(Kind::kRange) || arguments_.is_undefined());
    const std::size_t given = arguments_.is(Kind::kTuple) ? arguments_.items().size() : 1;
    if (next_ < given && !is_mapping)
      return renderer_.Fail("not all arguments of a % format are used");
    return renderer_.Text(out_, markup_);
  }

 private:
  struct Spec {
    bool left = false, plus = false, space = false, alternate = false, zero = false;
    std::int64_t width = -1, precision = -1;
    Value named;  // of %(name)s
    bool has_name = false;
  };

  bool Fail(std::string message) {
    renderer_.Fail(std::move(message));
    return false;
  }

  bool NextArgument(Value* value) {
    if (arguments_.is(Kind::kTuple)) {
      if (next_ >= arguments_.items().size()) return Fail("a % format has too few arguments");
      *value = arguments_.items()[next_++];
      return true;
    }
    if (next_++ != 0) return Fail("a % format has too few arguments");
    *value = arguments_;
    return true;
  }

  bool Name(Spec* spec) {
    int open = 1;
    const std::size_t begin = ++pos_;
    for (; pos_ < text_.size() && open > 0; ++pos_)
      open += text_[pos_] == '(' ? 1 : text_[pos_] == ')' ? -1 : 0;
    if (open > 0) return Fail("a % format's name has no end");
    if (!arguments_.is(Kind::kDict)) return Fail("a % format with names wants a dict");
    const Value* found = DictFindText(arguments_.dict(), text_.substr(begin, pos_ - 1 - begin));
    if (found == nullptr)
      return Fail(
          fmt::format("a % format's dict has no '{}'", text_.substr(begin, pos_ - 1 - begin)));
    spec->named = *found;
    spec->has_name = true;
    return true;
  }

  // A width or precision: digits, or * for an argument.
  bool Count(std::int64_t* count) {
    if (pos_ < text_.size() && text_[pos_] == '*') {
      ++pos_;
      Value value;
      if (!NextArgument(&value)) return false;
      if (!value.is_integral()) return Fail("a * in a % format wants an integer");
      *count = value.integer();
    } else {
      for (bool first = true; pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9';
           ++pos_, first = false) {
        *count = (first ? 0 : *count) * 10 + (text_[pos_] - '0');
        if (*count > INT32_MAX) break;
      }
    }
    if (*count > INT32_MAX || *count < -INT32_MAX)
      return Fail("a width in a % format is too large");
    return true;
  }

  bool Directive() {
    Spec spec;
    if (pos_ < text_.size() && text_[pos_] == '(' && !Name(&spec)) return false;
    for (; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (c == '-')
        spec.left = true;
      else if (c == '+')
        spec.plus = true;
      else if (c == ' ')
        spec.space = true;
      else if (c == '#')
        spec.alternate = true;
      else if (c == '0')
        spec.zero = true;
      else
        break;
    }
    if (!Count(&spec.width)) return false;
    if (spec.width < -1) {
      spec.left = true;
      spec.width = -spec.width;
    }
    if (pos_ < text_.size() && text_[pos_] == '.') {
      ++pos_;
      spec.precision = 0;
      if (!Count(&spec.precision)) return false;
      spec.precision = std::max<std::int64_t>(spec.precision, 0);
    }
    while (pos_ < text_.size() && (text_[pos_] == 'h' || text_[pos_] == 'l' || text_[pos_] == 'L'))
      ++pos_;
    if (pos_ >= text_.size()) return Fail("a % format is cut short");
    const char type = text_[pos_++];
    if (type == '%') {
      out_ += '%';
      return true;
    }
    Value value = spec.named;
    if (!spec.has_name && !NextArgument(&value)) return false;
    return Convert(type, spec, value);
  }

  bool Convert(char type, const Spec& spec, const Value& value) {
    switch (type) {
      case 's':
      case 'r':
      case 'a':
        return ConvertText(type, spec, value);
      case 'c':
        return ConvertChar(spec, value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return ConvertInteger(type, spec, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return ConvertFloat(type, spec, value);
      default:
        return Fail(fmt::format("a % format has no conversion '{}'", type));
    }
  }

  bool Pad(std::string_view text, const Spec& spec) {
    const auto width = static_cast<std::size_t>(std::max<std::int64_t>(spec.width, 0));
    if (!renderer_.AllowText(out_.size() + text.size() + width)) return false;
    AppendPadded(text, spec.width, " ", spec.left ? '<' : '>', &out_);
    return true;
  }

  bool ConvertText(char type, const Spec& spec, const Value& value) {
    std::string text;
    if (type == 's' ? !AppendText(renderer_, value, &text) : !AppendRepr(renderer_, value, &text))
      return false;
    if (type == 'a') text = EscapeNonAscii(text);
    if (markup_ && !(type == 's' && value.is_string() && value.string().markup)) {
      std::string escaped;
      AppendEscaped(text, &escaped);
      text = std::move(escaped);
    }
    std::string_view shown = text;
    if (spec.precision >= 0) shown = shown.substr(0, OffsetOfChar(shown, spec.precision));
    return Pad(shown, spec);
  }

  bool ConvertChar(const Spec& spec, const Value& value) {
    std::string text;
    if (value.is_string() && renderer_.Chars(value) == 1) {
      text = value.text();
    } else if (value.is_integral() && value.integer() >= 0 && value.integer() < 0x110000) {
      AppendChar(static_cast<char32_t>(value.integer()), &text);
    } else {
      return Fail("%c wants a character or its code point");
    }
    return Pad(text, spec);
  }

  bool AppendNumber(const Spec& spec, bool negative, std::string_view prefix,
                    std::string_view digits, bool zeros) {
    std::string sign = negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
    sign += prefix;
    std::string body(digits);
    const auto width = spec.width - static_cast<std::int64_t>(sign.size());
    if (zeros && !spec.left && static_cast<std::int64_t>(body.size()) < width) {
      if (!renderer_.AllowText(out_.size() + static_cast<std::size_t>(width))) return false;
      body.insert(0, static_cast<std::size_t>(width) - body.size(), '0');
    }
    return Pad(sign + body, spec);
  }

  bool ConvertInteger(char type, const Spec& spec, const Value& value) {
    std::int64_t number = 0;
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (value.is_integral()) {
      number = value.integer();
    } else if (decimal && value.is(Kind::kFloat)) {
      const auto whole = TruncateFloat(value.real());
      if (!whole) return Fail("an integer does not fit in 64 bits");
      number = *whole;
    } else {
      return Fail(fmt::format("%{} wants a number, not a {}", type, TypeName(value)));
    }
    const auto magnitude =
        number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    std::string digits = IntegerDigits(magnitude, decimal ? 10 : type == 'o' ? 8 : 16, type == 'X');
    if (spec.precision > static_cast<std::int64_t>(digits.size())) {
      if (!renderer_.AllowText(static_cast<std::size_t>(spec.precision))) return false;
      digits.insert(0, static_cast<std::size_t>(spec.precision) - digits.size(), '0');
    }
    const std::string prefix = spec.alternate && !decimal ? std::string{'0', type} : "";
    return AppendNumber(spec, number < 0, prefix, digits, spec.zero);
  }

  bool ConvertFloat(char type, const Spec& spec, const Value& value) {
    double number = value.is_number() ? value.real() : 0;
    if (!value.is_number()) {
      return Fail(fmt::format("%{} wants a number, not a {}", type, TypeName(value)));
    }
    if (spec.precision > (1 << 20)) return Fail("a precision in a % format is too large");
    const bool negative = std::signbit(number) && !std::isnan(number);
    const std::string digits =
        FloatDigits(std::isnan(number) ? number : std::fabs(number), type,
                    spec.precision < 0 ? 6 : static_cast<int>(spec.precision), spec.alternate);
    return AppendNumber(spec, negative, "", digits, spec.zero);
  }

  Renderer& renderer_;
  const std::string_view text_;
  const bool markup_;
  const Value arguments_;
  std::size_t pos_ = 0;
  std::size_t next_ = 0;
  std::string out_;
};

}  // namespace

Value FormatPercent(Renderer& renderer, const Value& format, const Value& arguments) {
  return PercentFormatter(renderer, format, arguments).Run();
}

}  // namespace tonnage::chat
