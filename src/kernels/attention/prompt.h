// Attention of the rows of prompts, of which many read the same keys: as tiles of bf16, with f32
// sums and an f32 softmax that goes over the keys once.
//   s[t] = sum_i bf16(scale q[i]) * bf16(K[t, i]);  out = sum_t bf16(p[t]) * bf16(V[t]) / sum_t
//   p[t]
// where p[t] = 2^(s[t] - the largest so far, or one not much below it), rescaled when a much larger
// one comes. A block of keys and values is laid out as tiles once and meets all queries of a kv
// head that a thread has. Multiplying tiles is matmul/prompt.h's, so that nothing here knows how a
// processor does it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/attention/attention.h"
#include "kernels/attention/driver.h"
#include "kernels/matmul/prompt.h"

namespace tonnage {

// Keys that are laid out together, and those whose scores are held at a time. Both begin at
// multiples of themselves, whatever the rows: sums run in one order.
inline constexpr std::int64_t kPromptKeys = 512;
inline constexpr std::int64_t kPromptStepKeys = 128;
// Queries of one thread at most, unless a kv head has more.
inline constexpr std::int64_t kPromptQueries = 256;

// What one thread needs, in blocks of tiles (matmul/prompt.h). A pair of neighbours in a tile's k
// is elements i and i + 16 of 32 dimensions or keys: that is how two vectors are packed with no
// shuffle, and a sum may run in any order that both factors share.
struct PromptScratch {
  std::uint16_t* q = nullptr;  // [queries / 16][k_dim / 32][16][32]
  std::uint16_t* k = nullptr;  // [keys / 16][k_dim / 32][16 pairs][16][2]
  std::uint16_t* v = nullptr;  // [v_dim / 16][keys / 32][16 pairs][16][2]
  float* scores = nullptr;     // [2][step keys / 16][16][16]
  std::uint16_t* p = nullptr;  // [2][step keys / 32][16][32]
  float* acc = nullptr;        // [queries / 16][v_dim / 16][16][16]
  float* largest = nullptr;    // [queries]
  float* sums = nullptr;       // [queries][16], lane by lane
};

// The place of each part, from what a tile's queries and heads need.
struct PromptLayout {
  PromptLayout(const AttentionShape& shape, std::int64_t most_queries)
      : k_steps(CeilDiv(shape.k_dim, kTileK)),
        v_columns(CeilDiv(shape.v_dim, kPanelRows)),
        blocks(CeilDiv(most_queries, kTileRows)) {
    const auto push = [this](std::int64_t elements, Bytes size) {
      const Bytes at = bytes;
      bytes += RoundUp(elements * size, 64);
      return at;
    };
    q = push(blocks * k_steps * kTileElements, 2);
    k = push(kPromptKeys / kTileRows * k_steps * kTileElements, 2);
    v = push(kPromptKeys / kTileK * v_columns * kTileElements, 2);
    scores = push(2 * kTileRows * kPromptStepKeys, 4);
    p = push(2 * kTileRows * kPromptStepKeys, 2);
    acc = push(blocks * v_columns * kSumElements, 4);
    largest = push(blocks * kTileRows, 4);
    sums = push(blocks * kTileRows * kTileRows, 4);
  }

  PromptScratch At(std::uint8_t* data) const {
    return {.q = reinterpret_cast<std::uint16_t*>(data + q),
            .k = reinterpret_cast<std::uint16_t*>(data + k),
            .v = reinterpret_cast<std::uint16_t*>(data + v),
            .scores = reinterpret_cast<float*>(data + scores),
            .p = reinterpret_cast<std::uint16_t*>(data + p),
            .acc = reinterpret_cast<float*>(data + acc),
            .largest = reinterpret_cast<float*>(data + largest),
            .sums = reinterpret_cast<float*>(data + sums)};
  }

  std::int64_t k_steps, v_columns, blocks;
  Bytes bytes = 0;  // of all
  Bytes q, k, v, scores, p, acc, largest, sums;
};

// How a thread computes, compiled for one vector level.
struct PromptFunctions {
  WriteCacheRows* write;
  // The tile's part of args.out.
  void (*attend)(const PromptVariant& variant, const AttentionArgs& args, const AttentionTile& tile,
                 const PromptLayout& layout, const PromptScratch& scratch);
};

Bytes TiledPromptWorkspaceBytes(const AttentionShape& shape, const AttentionLimits& limits);
void RunTiledPrompt(const PromptVariant& variant, const PromptFunctions& functions,
                    const AttentionArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);

}  // namespace tonnage
