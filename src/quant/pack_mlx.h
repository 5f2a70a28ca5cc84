// MLX's quantizers, part of PackRow (pack.h). Rows are whole groups.
//
// Affine: s = max((max - min) / (2^bits - 1), 1e-7), negative if the edge furthest from 0 is the
// maximum; q0 = round(edge / s); if q0 is not 0, scale = edge / q0 and bias = edge, else scale = s
// and bias = 0. q = clamp(round((w - bias) / scale)), before scale and bias are cast for storage.
//
// fp4 and fp8: s = max |w| / (the largest code); the scale is the least power of two that is not
// below s (mxfp4, mxfp8) or s as e4m3 (nvfp4); q = the code nearest to w / scale.
//
// Results depend on the device that MLX runs on:
//   CPU: a group's maximum starts from minus infinity; halves round to even. fp4 and fp8 round s
//   and w / scale to the type of the weight; of two e2m1 codes as near it takes the smaller one; a
//   group of zeros has the scale 1 (0 in nvfp4), and a scale below 2^-127 wraps around. GPU: a
//   group's maximum starts from 0; halves round away from zero. fp4 and fp8 calculate in f32 and
//   multiply by 1 / scale; of two e2m1 codes as near it takes the even one; -0 keeps its sign; a
//   group of zeros has the scale 2^-127. From MLX's Metal kernels; not compared with a GPU.
#pragma once

#include <cstdint>
#include <span>

#include "quant/pack.h"

namespace tonnage::internal {

void PackAffine(const Format& format, PackProfile profile, std::span<const float> row,
                std::uint8_t* data, std::uint8_t* scales, std::uint8_t* biases);
// kMxfp4, kMxfp8 and kNvfp4.
void PackMlxFloat(FormatKind kind, const PackOptions& options, std::span<const float> row,
                  std::uint8_t* data, std::uint8_t* scales);

// codes [count] of `bits` bits each, count a multiple of 8, as one bitstream, least significant
// bits first.
void PackBits(const std::uint8_t* codes, std::size_t count, int bits, std::uint8_t* out);

}  // namespace tonnage::internal
