#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "kernels/matmul/prompt.h"
#include "kernels/matmul/tile.h"
#include "kernels/matmul/unroll.h"
#include "quant/minifloat.h"

#define TONNAGE_TARGET

namespace tonnage {
namespace {
#include "kernels/matmul/vec_portable.inc"
//
#include "kernels/matmul/dequantize.inc"
//
#include "kernels/matmul/prompt_tile.inc"

void MultiplyTile(const TileProduct& p, int column) {
  const std::uint16_t *a = p.a, *b = p.b[column];
  for (int r = 0; r < kTileRows; ++r) {
    const float* const from = p.from[column];
    float* const sums = p.to[column] + r * p.stride;
    for (int n = 0; n < kPanelRows; ++n)
      sums[n] = from != nullptr ? from[r * kPanelRows + n] : 0.0f;
  }
  for (std::int64_t step = 0; step < p.steps; ++step, a += kTileElements, b += kTileElements) {
    for (int r = 0; r < kTileRows; ++r) {
      float* const sums = p.to[column] + r * p.stride;
      for (int i = 0; i < kTileK; ++i) {
        const float x = Bf16ToF32(a[r * kTileK + i]);
        const std::uint16_t* const weights = b + i / 2 * 2 * kPanelRows + i % 2;
        for (int n = 0; n < kPanelRows; ++n) sums[n] += x * Bf16ToF32(weights[2 * n]);
      }
    }
  }
}

void MultiplyTiles(const TileProduct& p) {
  for (int j = 0; j < p.columns; ++j) MultiplyTile(p, j);
}

void Nothing() {}

}  // namespace

const PromptVariant kPromptPortable = {
    {kTileRows, kTileRows, RowBytesOf, Prepare, kSliceSteps* kTileK},
    Dequantize,
    Nothing,
    MultiplyTiles,
    Nothing};

}  // namespace tonnage
