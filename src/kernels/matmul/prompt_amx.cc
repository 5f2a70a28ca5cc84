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

// Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 weights; all are 16 rows of 64 bytes.
constexpr int kTileStride = 64;

constexpr TileShapes kShapes = FullTiles();

TARGET_AMX void Begin() { _tile_loadconfig(&kShapes); }
TARGET_AMX void End() { _tile_release(); }

// kRows by kColumns blocks. The numbers of tiles are part of instructions, so that no loop can run
// over them.
template <int kRows, int kColumns>
TARGET_AMX void Multiply(const TileProduct& p) {
  if (p.add) {
    _tile_loadd(0, p.c[0][0], kTileStride);
    if constexpr (kColumns == 2) _tile_loadd(1, p.c[0][1], kTileStride);
    if constexpr (kRows == 2) _tile_loadd(2, p.c[1][0], kTileStride);
    if constexpr (kRows == 2 && kColumns == 2) _tile_loadd(3, p.c[1][1], kTileStride);
  } else {
    _tile_zero(0);
    if constexpr (kColumns == 2) _tile_zero(1);
    if constexpr (kRows == 2) _tile_zero(2);
    if constexpr (kRows == 2 && kColumns == 2) _tile_zero(3);
  }
  for (std::int64_t at = 0; at < p.steps * kTileElements; at += kTileElements) {
    _tile_loadd(4, p.a[0] + at, kTileStride);
    _tile_loadd(6, p.b[0] + at, kTileStride);
    if constexpr (kColumns == 2) _tile_loadd(7, p.b[1] + at, kTileStride);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRows == 2) _tile_loadd(5, p.a[1] + at, kTileStride);
    if constexpr (kColumns == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRows == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kRows == 2 && kColumns == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, p.c[0][0], kTileStride);
  if constexpr (kColumns == 2) _tile_stored(1, p.c[0][1], kTileStride);
  if constexpr (kRows == 2) _tile_stored(2, p.c[1][0], kTileStride);
  if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, p.c[1][1], kTileStride);
}

void MultiplyTiles(const TileProduct& p) {
  if (p.rows == 2) {
    return p.columns == 2 ? Multiply<2, 2>(p) : Multiply<2, 1>(p);
  }
  return p.columns == 2 ? Multiply<1, 2>(p) : Multiply<1, 1>(p);
}

}  // namespace

const PromptVariant kPromptAmx = {
    {kTileRows, kTileRows, RowBytesOf, Prepare}, Dequantize, Begin, MultiplyTiles, End};

}  // namespace tonnage

#endif
