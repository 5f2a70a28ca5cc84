#include "chat/number.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "chat/text.h"

namespace tonnage::chat {
namespace {

int DigitValue(char32_t c) {
  if (c >= 'a' && c <= 'z') return static_cast<int>(c - 'a') + 10;
  if (c >= 'A' && c <= 'Z') return static_cast<int>(c - 'A') + 10;
  return DecimalValue(c);
}

int PrefixBase(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  switch (text[1] | 0x20) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
      return 16;
    default:
      return 0;
  }
}

// The text with digits of any script as ASCII and without underscores; nothing where an underscore
// is misplaced.
std::optional<std::string> PlainDigits(std::string_view text) {
  std::string result;
  bool after_digit = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = DecodeChar(text, &i);
    const int digit = DecimalValue(c);
    if (c == '_') {
      if (!after_digit || i >= text.size()) return std::nullopt;
      std::size_t next = i;
      if (DecimalValue(DecodeChar(text, &next)) < 0) return std::nullopt;
      after_digit = false;
      continue;
    }
    if (digit >= 0) {
      result.push_back(static_cast<char>('0' + digit));
    } else if (c < 0x80) {
      result.push_back(static_cast<char>(c));
    } else {
      return std::nullopt;
    }
    after_digit = digit >= 0;
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> ParseInteger(std::string_view text, int base, bool* overflow) {
  text = StripSpace(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool underscore_allowed = false;
  if (const int prefix = PrefixBase(text); prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    text.remove_prefix(2);
    underscore_allowed = true;
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != text.npos) return {};
  }
  if (text.empty()) return {};
  std::int64_t value = 0;
  bool fits = true;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = DecodeChar(text, &i);
    if (c == '_') {
      if (!underscore_allowed || i >= text.size()) return {};
      underscore_allowed = false;
      continue;
    }
    const int digit = DigitValue(c);
    if (digit < 0 || digit >= base) return {};
    underscore_allowed = true;
    fits = fits && !__builtin_mul_overflow(value, base, &value) &&
           !__builtin_sub_overflow(value, digit, &value);  // negative, which reaches further
  }
  fits = fits && (negative || value != std::numeric_limits<std::int64_t>::min());
  if (!fits) {
    if (overflow != nullptr) *overflow = true;
    return {};
  }
  return negative ? value : -value;
}

std::optional<double> ParseFloat(std::string_view text) {
  const auto plain = PlainDigits(StripSpace(text));
  if (!plain || plain->empty()) return {};
  std::string_view digits = *plain;
  bool negative = false;
  if (digits[0] == '-' || digits[0] == '+') {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return {};
  double value = 0;
  const std::string lower = Lower(digits);
  if (lower == "inf" || lower == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (lower == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (digits[0] != '.' && DecimalValue(static_cast<unsigned char>(digits[0])) < 0) return {};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end != digits.data() + digits.size()) return {};
    if (error == std::errc::result_out_of_range) {
      value = std::strtod(lower.c_str(), nullptr);  // 0 or infinity, as Python has it
    } else if (error != std::errc()) {
      return {};
    }
  }
  return negative ? -value : value;
}

std::string FormatFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  char buffer[64];
  const auto scientific =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(scientific.ptr - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  char fixed[64];
  const auto end = std::to_chars(fixed, fixed + sizeof fixed, value, std::chars_format::fixed);
  std::string result(fixed, end.ptr);
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

double RoundFloat(double value, int digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits >= 0) {
    // printf rounds the exact value correctly, halves to even, as Python's round does.
    char buffer[800];
    const int size = std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
    double result = value;
    std::from_chars(buffer, buffer + size, result);
    return result;
  }
  char buffer[400];
  const int exponent = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::fabs(value))));
  const int kept = exponent + digits;
  if (kept < -1) return std::copysign(0.0, value);
  const double unit = std::pow(10.0, -digits);
  if (kept < 0) return std::copysign(std::fabs(value) > unit / 2 ? unit : 0.0, value);
  const int size = std::snprintf(buffer, sizeof buffer, "%.*e", kept, value);
  double result = value;
  std::from_chars(buffer, buffer + size, result);
  return result;
}

std::optional<std::int64_t> AddIntegers(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return {};
  return result;
}

std::optional<std::int64_t> SubtractIntegers(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) return {};
  return result;
}

std::optional<std::int64_t> MultiplyIntegers(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return {};
  return result;
}

std::optional<std::int64_t> PowerIntegers(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if (exponent & 1) {
      if (__builtin_mul_overflow(result, base, &result)) return {};
    }
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) return {};
  }
}

std::optional<std::int64_t> TruncateFloat(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return {};
  return static_cast<std::int64_t>(value);
}

}  // namespace tonnage::chat
