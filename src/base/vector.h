// Four floats or words at a time, with the compilers' own vector types: the operators work on every
// processor, and become single instructions where there are such.
#pragma once

#include <cstdint>
#include <cstring>

namespace tonnage {

using Float4 = float __attribute__((vector_size(16)));
using Word4 = std::uint32_t __attribute__((vector_size(16)));
using Half8 = std::uint16_t __attribute__((vector_size(16)));
using Byte16 = std::uint8_t __attribute__((vector_size(16)));

template <typename V>
V LoadVector(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline Float4 Splat4(float value) { return Float4{value, value, value, value}; }

inline float SumLanes(Float4 v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// Rows of four words become columns.
inline void Transpose4(Word4 rows[4]) {
  const Word4 a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Word4 b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Word4 c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Word4 d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

// Rows of eight become columns: three rounds that each put row i beside row i + 4.
inline void Transpose8(Half8 rows[8]) {
  for (int round = 0; round < 3; ++round) {
    Half8 out[8];
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      out[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; ++i) rows[i] = out[i];
  }
}

// Rows of 16 become columns, in the same way.
inline void Transpose16(Byte16 rows[16]) {
  for (int round = 0; round < 4; ++round) {
    Byte16 out[16];
    for (int i = 0; i < 8; ++i) {
      out[2 * i] = __builtin_shufflevector(rows[i], rows[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                           5, 21, 6, 22, 7, 23);
      out[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                               12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < 16; ++i) rows[i] = out[i];
  }
}

}  // namespace tonnage
