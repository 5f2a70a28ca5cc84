// Products of the rows of prompts, of which there are many: a block of weights is dequantized to
// bf16 once for all rows, lies in the L2 cache meanwhile, and is multiplied as bf16 with f32 sums:
//   y[m, n] = sum_k bf16(x[m, k]) * bf16(w[n, k]), k rising within fixed blocks
// The panels are those of the other kernels (panel.h), so that a weight is stored once. What
// differs between variants is how a thread multiplies tiles; everything else is in prompt_run.cc.
//
// Workspace: the prepared rows, and for each thread a block of weights and one of sums.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/panel.h"
#include "kernels/matmul/row_jobs.h"

namespace tonnage {

inline constexpr int kTileRows = 16;  // of activations
inline constexpr int kTileK = 32;     // elements of k in a tile
inline constexpr int kTileElements = kTileRows * kTileK;
inline constexpr int kSumElements = kTileRows * kPanelRows;
// Steps of 32 elements of k whose weights are dequantized at a time: those of two panels (16 KiB)
// stay in the L1 cache while all rows pass, even in the half of it that is a thread's where two
// share a core.
inline constexpr std::int64_t kSliceSteps = 8;

// to[j] = a * b[j], + from[j] where there is one, for up to two blocks of tiles beside each other:
// a [steps][16 rows][32], each b [steps][16 pairs of k][16 columns][2], bf16; each from [16][16]
// f32, each `to` likewise in rows `stride` apart. Two, since a sum should not wait for the one
// before it; no more, since tiles are scarce (prompt_amx.cc).
struct TileProduct {
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b[2] = {};
  const float* from[2] = {};  // both or none
  float* to[2] = {};
  std::int64_t stride = kPanelRows;  // in elements
  int columns = 1;
  std::int64_t steps = 0;
};

struct PromptVariant {
  RowBlocks blocks;  // of a slice [steps][16 rows][32] bf16, zeros beyond k
  // Elements [32 * first, 32 * (first + steps)) of each row of a panel as [steps][16 pairs][16][2]
  // bf16, zeros beyond k.
  void (*dequantize)(const PanelLayout& layout, std::int64_t k, const std::uint8_t* panel,
                     std::int64_t first, std::int64_t steps, std::uint16_t* out);
  // A thread calls `begin` before its products and `end` after them.
  void (*begin)();
  void (*multiply)(const TileProduct& product);
  void (*end)();
};

// For any processor; what the others are tested against.
extern const PromptVariant kPromptPortable;
#if defined(__x86_64__)
extern const PromptVariant kPromptBf16;
extern const PromptVariant kPromptAmx;
#endif

Bytes PromptWorkspaceBytes(const PromptVariant& variant, std::int64_t rows, std::int64_t k,
                           std::int64_t experts, int threads);
void RunPanels(const PromptVariant& variant, const MatmulArgs& args,
               std::span<std::uint8_t> workspace, ThreadPool& pool);
void RunExpertPanels(const PromptVariant& variant, const ExpertMatmulArgs& args,
                     std::span<std::uint8_t> workspace, ThreadPool& pool);

}  // namespace tonnage
