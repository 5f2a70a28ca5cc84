// Numbers and text, as Python converts them. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tonnage::chat {

// int(text, base): white space around, a sign, a base's prefix, single underscores between digits,
// digits of any script. Nothing when the text is no integer; `*overflow` (if given) is set where it
// is one that does not fit in 64 bits.
std::optional<std::int64_t> ParseInteger(std::string_view text, int base, bool* overflow = nullptr);

// float(text): also "nan", "inf" and "infinity".
std::optional<double> ParseFloat(std::string_view text);

// repr(float): the shortest text that reads back the same, "1.0", "1e+16", "nan".
std::string FormatFloat(double value);

// round(value, digits), halves to even on the exact decimal value.
double RoundFloat(double value, int digits);

std::optional<std::int64_t> AddIntegers(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> SubtractIntegers(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> MultiplyIntegers(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> PowerIntegers(std::int64_t base,
                                          std::int64_t exponent);  // exponent >= 0
// The float's whole part, when it fits.
std::optional<std::int64_t> TruncateFloat(double value);

}  // namespace tonnage::chat
