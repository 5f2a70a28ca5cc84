// What differs between the panel kernels: how a block of activation rows is prepared, and the
// product of one such block with one panel. Everything else is shared (run.h).
//
// A block holds the activations of `width` rows (a power of two, at most max_width) side by side;
// rows beyond the valid ones are zero. Since the lanes of a panel are output rows, every output is
// one chain of operations over k, the same for every width.
#pragma once

#include <cstdint>

#include "kernels/matmul/panel.h"
#include "kernels/matmul/row_jobs.h"

namespace tonnage {

struct Tile {
  const PanelLayout* layout = nullptr;
  std::int64_t k = 0;
  const std::uint8_t* panel = nullptr;
  const std::uint8_t* block = nullptr;  // prepared, of `width` rows
  int width = 0;
  int rows = 0;                  // valid ones, at most width
  int columns = 0;               // valid output rows of the panel, at most 16
  const float* bias = nullptr;   // [columns] or null
  float* y[kMaxBlockRows] = {};  // [rows], each [columns]
};

struct TileVariant {
  RowBlocks blocks;
  void (*multiply)(const Tile& tile);
};

// Activations stay f32; weights are dequantized in registers.
extern const TileVariant kExactPortable;
// Activations as int8 with an f32 step and offset for every 32; int32 sums inside a group.
extern const TileVariant kFastPortable;
#if defined(__x86_64__)
extern const TileVariant kExactAvx2;
extern const TileVariant kExactAvx512;
extern const TileVariant kFastAvx2;
extern const TileVariant kFastVnni;
#endif

}  // namespace tonnage
