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
#include "kernels/tile_shapes.h"
#include "quant/minifloat.h"

#define TONNAGE_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma,f16c")))
#define TONNAGE_BF16
#define TARGET_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace tonnage {
namespace {
#include "kernels/matmul/vec_avx512.inc"
//
#include "kernels/matmul/dequantize.inc"
//
#include "kernels/matmul/prompt_tile.inc"

// A core has only a few tile registers more than those that have names, and its two threads share
// them: a load or a product waits for a free one. So a tile becomes zero, which takes none, as soon
// as it has been read, and sums are two rather than four; with four and none zeroed, products ran
// at two thirds of this rate while the other thread of the core was busy, at the same while it was
// not.
constexpr int kTileStride = 64;  // bytes: every tile is 16 rows of 64

constexpr TileShapes kShapes = FullTiles();

TARGET_AMX void Begin() { _tile_loadconfig(&kShapes); }
TARGET_AMX void End() { _tile_release(); }

// Tiles 0 and 1 are sums, 4 is rows, 6 and 7 are weights.
template <int kColumns>
TARGET_AMX void Multiply(const TileProduct& p) {
  if (p.from[0] != nullptr) {
    _tile_loadd(0, p.from[0], kTileStride);
    if constexpr (kColumns == 2) _tile_loadd(1, p.from[1], kTileStride);
  } else {
    _tile_zero(0);
    if constexpr (kColumns == 2) _tile_zero(1);
  }
  for (std::int64_t at = 0; at < p.steps * kTileElements; at += kTileElements) {
    _tile_loadd(4, p.a + at, kTileStride);
    _tile_loadd(6, p.b[0] + at, kTileStride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_zero(6);
    if constexpr (kColumns == 2) {
      _tile_loadd(7, p.b[1] + at, kTileStride);
      _tile_dpbf16ps(1, 4, 7);
      _tile_zero(7);
    }
    _tile_zero(4);
  }
  const auto stride = static_cast<std::ptrdiff_t>(p.stride * static_cast<Bytes>(sizeof(float)));
  _tile_stored(0, p.to[0], stride);
  _tile_zero(0);
  if constexpr (kColumns == 2) {
    _tile_stored(1, p.to[1], stride);
    _tile_zero(1);
  }
}

void MultiplyTiles(const TileProduct& p) { p.columns == 2 ? Multiply<2>(p) : Multiply<1>(p); }

}  // namespace

const PromptVariant kPromptAmx = {{kTileRows, kTileRows, RowBytesOf, Prepare, kSliceSteps* kTileK},
                                  Dequantize,
                                  Begin,
                                  MultiplyTiles,
                                  End};

}  // namespace tonnage

#endif
