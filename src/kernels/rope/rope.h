// Rotary position embedding. For pair i of a head, with angle = position * inverse_frequency[i],
// c = cos(angle) * magnitude and s = sin(angle) * magnitude:
//   y[a] = x[a] * c - x[b] * s,  y[b] = x[b] * c + x[a] * s
// where (a, b) is (i, i + pairs) in half-split order and (2i, 2i + 1) in interleaved order.
// Elements from 2 * pairs on are copied. Cosines and sines come from a table that is filled once a
// step and shared by all layers; angles are double, so they are exact to a million positions and
// beyond.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/variant.h"

namespace tonnage {

struct RopeTableArgs {
  const std::int32_t* positions = nullptr;   // [rows]
  const float* inverse_frequency = nullptr;  // [pairs], radians a position
  std::int64_t pairs = 0;
  float magnitude = 1.0f;
  float* table = nullptr;  // [rows, 2, pairs]: cosines, then sines
};
// Rows [begin, end) of the table.
void FillRopeTable(const RopeTableArgs& args, std::int64_t begin, std::int64_t end);

struct RopeArgs {
  const float* x = nullptr;      // [rows, heads, head_dim]
  const float* table = nullptr;  // [rows, 2, pairs]
  float* y = nullptr;            // [rows, heads, head_dim]; may be x
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t pairs = 0;  // at most head_dim / 2
};

struct RopeKernel {
  std::string_view name;
  CpuLevel level;
  // Rows [begin, end).
  void (*half_split)(const RopeArgs& args, std::int64_t begin, std::int64_t end);
  void (*interleaved)(const RopeArgs& args, std::int64_t begin, std::int64_t end);
};

std::span<const RopeKernel> RopeKernels();

namespace reference {
void RopeHalfSplit(const RopeArgs& args, std::int64_t begin, std::int64_t end);
void RopeInterleaved(const RopeArgs& args, std::int64_t begin, std::int64_t end);
}  // namespace reference

}  // namespace tonnage
