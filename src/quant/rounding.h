// Rounding that compilers turn into vector instructions: no calls, no branches.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/dtype.h"

namespace tonnage {

// To the nearest whole number, halves to even. |value| < 2^22.
inline float RoundEven(float value) {
  constexpr float kRounder = 0x1.8p23f;  // numbers near it have no room for a fraction
  return (value + kRounder) - kRounder;
}

// The same, halves away from zero.
inline float RoundAway(float value) {
  const float magnitude = std::fabs(value), even = RoundEven(magnitude);
  return std::copysign(magnitude - even == 0.5f ? even + 1 : even, value);
}

// Between low and high; NaN gives low.
inline float Clamp(float value, float low, float high) {
  const float raised = value > low ? value : low;
  return raised < high ? raised : high;
}

// The nearest number that float16 has, halves to even; what it cannot hold is infinite.
inline float RoundToF16(float value) {
  constexpr float kSmallestNormal = 0x1p-14f, kOverflow = 0x1p16f;
  constexpr float kSubnormals = 0x1.8p-1f;  // numbers near it have a step of 2^-24
  const auto bits = std::bit_cast<std::uint32_t>(std::fabs(value));
  const float magnitude = std::bit_cast<float>(bits);
  const float normal = std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu);
  const float small = (magnitude + kSubnormals) - kSubnormals;
  const float rounded = magnitude < kSmallestNormal ? small : normal;
  const float held = rounded < kOverflow ? rounded : std::numeric_limits<float>::infinity();
  return std::copysign(value == value ? held : value, value);
}

// The nearest number that bfloat16 has, halves to even.
inline float RoundToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float rounded = std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
  return value == value ? rounded : value;
}

// One of them by the type to round to, so that loops can be instantiated for each.
template <DType kDType>
float RoundTo(float value) {
  if constexpr (kDType == DType::kF16) return RoundToF16(value);
  if constexpr (kDType == DType::kBF16) return RoundToBf16(value);
  return value;
}

}  // namespace tonnage
