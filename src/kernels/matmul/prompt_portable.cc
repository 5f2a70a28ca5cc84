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

void MultiplyTile(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps, bool add,
                  float* c) {
  if (!add) std::fill_n(c, kSumElements, 0.0f);
  for (std::int64_t step = 0; step < steps; ++step, a += kTileElements, b += kTileElements) {
    for (int r = 0; r < kTileRows; ++r) {
      float* const sums = c + r * kPanelRows;
      for (int i = 0; i < kTileK; ++i) {
        const float x = Bf16ToF32(a[r * kTileK + i]);
        const std::uint16_t* const weights = b + i / 2 * 2 * kPanelRows + i % 2;
        for (int n = 0; n < kPanelRows; ++n) sums[n] += x * Bf16ToF32(weights[2 * n]);
      }
    }
  }
}

void MultiplyTiles(const TileProduct& p) {
  for (int i = 0; i < p.rows; ++i) {
    for (int j = 0; j < p.columns; ++j) MultiplyTile(p.a[i], p.b[j], p.steps, p.add, p.c[i][j]);
  }
}

void Nothing() {}

}  // namespace

const PromptVariant kPromptPortable = {
    {kTileRows, kTileRows, RowBytesOf, Prepare}, Dequantize, Nothing, MultiplyTiles, Nothing};

}  // namespace tonnage
