// The packed scales inside GGUF's super-blocks of 256.
#pragma once

#include <cstdint>

namespace tonnage {

// q3_k: 16 scales of 6 bits in 12 bytes: low nibbles first, then pairs of high bits.
inline int Q3KScale(const std::uint8_t* scales, int index) {
  const int low = scales[index % 8] >> (index < 8 ? 0 : 4) & 15;
  const int high = scales[8 + index % 4] >> (2 * (index / 4)) & 3;
  return (low | high << 4) - 32;
}

// q4_k and q5_k: 8 scales and 8 minima of 6 bits in 12 bytes. The first four of each lie in the low
// bits of a byte; the others are a nibble, and the bits that the first four left.
struct ScaleAndMin {
  int scale;
  int min;
};
inline ScaleAndMin KScaleAndMin(const std::uint8_t* scales, int index) {
  if (index < 4) return {scales[index] & 63, scales[index + 4] & 63};
  const int nibbles = scales[index + 4];
  return {(nibbles & 15) | scales[index - 4] >> 6 << 4, nibbles >> 4 | scales[index] >> 6 << 4};
}

// iq4_xs: 8 scales of 6 bits: 2 bytes of high pairs, then 4 bytes of low nibbles.
inline int Iq4XsScale(const std::uint8_t* scales, int index) {
  const int high = scales[index / 4] >> (2 * (index % 4)) & 3;
  const int low = scales[2 + index / 2] >> (4 * (index % 2)) & 15;
  return (low | high << 4) - 32;
}

}  // namespace tonnage
