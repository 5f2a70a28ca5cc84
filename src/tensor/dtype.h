// Element types of plain tensors, and the conversions between them. Quantized storage is
// quant/format.h's.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace tonnage {

enum class DType : std::uint8_t { kF32, kF16, kBF16, kI32, kU8 };

constexpr int DTypeBytes(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU8:
      return 1;
  }
  return 0;
}

constexpr std::string_view DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI32:
      return "i32";
    case DType::kU8:
      return "u8";
  }
  return "?";
}

inline float Bf16ToF32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Round to nearest even; NaN stays NaN.
inline std::uint16_t F32ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float F16ToF32(std::uint16_t bits);
// Round to nearest even; overflow becomes infinity; NaN stays NaN.
std::uint16_t F32ToF16(float value);

}  // namespace tonnage
