// Four floats or words at a time, with the compilers' own vector types: the operators work on every
// processor, and become single instructions where there are such.
#pragma once

#include <cstdint>
#include <cstring>

namespace tonnage {

using Float4 = float __attribute__((vector_size(16)));
using Word4 = std::uint32_t __attribute__((vector_size(16)));

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

}  // namespace tonnage
