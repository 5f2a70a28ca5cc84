// Sizes in bytes for people: "92.0 MiB". Arithmetic that reports overflow instead of wrapping.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tonnage {

using Bytes = std::int64_t;

inline constexpr Bytes kKiB = 1024;
inline constexpr Bytes kMiB = 1024 * kKiB;
inline constexpr Bytes kGiB = 1024 * kMiB;

// "117 B", "4.0 KiB", "91.7 MiB", "16.0 GiB".
std::string FormatBytes(Bytes bytes);
// "1,048,576".
std::string FormatThousands(std::int64_t number);

// The product or sum, or nothing when it does not fit or an operand is negative.
std::optional<std::int64_t> CheckedMul(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> CheckedAdd(std::int64_t a, std::int64_t b);

constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t RoundUp(std::int64_t a, std::int64_t multiple) {
  return CeilDiv(a, multiple) * multiple;
}

}  // namespace tonnage
