#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>
#if defined(__x86_64__)
#include "kernels/matmul/intrinsics.h"
#include "kernels/matmul/prompt.h"
#include "kernels/matmul/tile.h"
#include "kernels/matmul/unroll.h"
#include "quant/minifloat.h"

#define TONNAGE_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma,f16c")))
#define TONNAGE_BF16

namespace tonnage {
namespace {
#include "kernels/matmul/vec_avx512.inc"
//
#include "kernels/matmul/dequantize.inc"
//
#include "kernels/matmul/prompt_tile.inc"

// A tile of sums in 16 registers: the dot product takes both elements of a pair.
TONNAGE_TARGET void MultiplyTile(const TileProduct& p, int column) {
  const std::uint16_t *a = p.a, *b = p.b[column];
  const float* const from = p.from[column];
  F sums[kTileRows];
  TONNAGE_UNROLL for (int r = 0; r < kTileRows; ++r) {
    sums[r] = from != nullptr ? _mm512_loadu_ps(from + r * kPanelRows) : _mm512_setzero_ps();
  }
  for (std::int64_t step = 0; step < p.steps; ++step, a += kTileElements, b += kTileElements) {
    for (int pair = 0; pair < kTileK / 2; ++pair) {
      const I weights = _mm512_loadu_si512(b + pair * 2 * kPanelRows);
      TONNAGE_UNROLL for (int r = 0; r < kTileRows; ++r) {
        std::int32_t x;
        std::memcpy(&x, a + r * kTileK + 2 * pair, sizeof x);
        sums[r] = _mm512_dpbf16_ps(sums[r], reinterpret_cast<__m512bh>(_mm512_set1_epi32(x)),
                                   reinterpret_cast<__m512bh>(weights));
      }
    }
  }
  float* const to = p.to[column];
  TONNAGE_UNROLL for (int r = 0; r < kTileRows; ++r) _mm512_storeu_ps(to + r * p.stride, sums[r]);
}

void MultiplyTiles(const TileProduct& p) {
  for (int j = 0; j < p.columns; ++j) MultiplyTile(p, j);
}

void Nothing() {}

}  // namespace

const PromptVariant kPromptBf16 = {{kTileRows, kTileRows, RowBytesOf, Prepare, kSliceSteps* kTileK},
                                   Dequantize,
                                   Nothing,
                                   MultiplyTiles,
                                   Nothing};

}  // namespace tonnage

#endif
