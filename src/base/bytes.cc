#include "base/bytes.h"

#include <fmt/format.h>

namespace tonnage {

std::string FormatBytes(Bytes bytes) {
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* name : {"KiB", "MiB", "GiB", "TiB"}) {
    value /= 1024;
    unit = name;
    if (value < 1024) break;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string FormatThousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (int i = static_cast<int>(digits.size()) - 3; i > (number < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::optional<std::int64_t> CheckedMul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> CheckedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

}  // namespace tonnage
