// The 4- and 8-bit floats that weights and their scales are stored in, as numbers and back. e8m0
// has no sign and no zero: it is a power of two.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tonnage {

// Twice the value of each e2m1 code, so that all are whole numbers.
inline constexpr std::array<std::int8_t, 16> kTwiceE2m1 = {0, 1,  2,  3,  4,  6,  8,  12,
                                                           0, -1, -2, -3, -4, -6, -8, -12};
// The 16 values of GGUF's IQ4 codes.
inline constexpr std::array<std::int8_t, 16> kIq4 = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                     1,    13,   25,  38,  53,  69,  89,  113};

// e4m3fn: no infinity; 0x7f and 0xff are NaN.
constexpr float E4m3ToF32(std::uint8_t code) {
  const std::uint32_t magnitude = code & 0x7fu, sign = (code & 0x80u) << 24;
  // The fields lie as in a float32 whose exponent is 120 too small; a subnormal becomes normal.
  const float value = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  const std::uint32_t nan = magnitude == 0x7f ? 0x7fc00000u : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | nan | sign);
}

// Rounds to nearest even and saturates at 448; NaN gives 448 with its sign.
constexpr std::uint8_t F32ToE4m3(float value) {
  constexpr std::uint32_t kSmallestNormal = 121u << 23;  // 2^-6
  constexpr std::uint32_t kLargest = 0x43e00000;         // 448
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  if (magnitude >= kLargest) return static_cast<std::uint8_t>(sign | 0x7e);
  if (magnitude < kSmallestNormal) {
    // The last bit of a number near 2^14 is worth 2^-9, a subnormal's step: the sum rounds to it.
    const float sum = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(sum) & 0xf));
  }
  const std::uint32_t rebased = magnitude - (120u << 23);
  return static_cast<std::uint8_t>(sign | (rebased + 0x7ffff + (rebased >> 20 & 1)) >> 20);
}

// 2^(code - 127); 255 gives infinity.
constexpr float E8m0ToF32(std::uint8_t code) {
  return std::bit_cast<float>(code == 0 ? 0x400000u : std::uint32_t{code} << 23);
}

// Half of 2^(code - 127), which goes with kTwiceE2m1: their product is exact. 255 gives 2^127.
constexpr float HalfE8m0ToF32(std::uint8_t code) {
  const std::uint32_t bits = code < 2 ? 0x200000u << code : (code - 1u) << 23;
  return std::bit_cast<float>(bits);
}

}  // namespace tonnage
