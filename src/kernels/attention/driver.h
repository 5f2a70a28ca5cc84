// The part of attention that is the same for every vector level: a step is cut into tiles, tiles
// and (when there are few) spans of keys are handed to threads, and the partial results of spans
// are merged in rising order. Spans begin at fixed positions and are merged even by a thread that
// runs them all, so that the cut changes no bit.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention/attention.h"

namespace tonnage {

// Keys of one partial result: few enough that a short context has work for many threads, enough
// that merging is little beside them.
inline constexpr std::int64_t kAttentionSpanTokens = 4 * kAttentionPageTokens;

// Neighbouring rows of one slot with the query heads of one kv head: query i of the tile is head
// i % group of row first_row + i / group, where group = heads / kv_heads.
struct AttentionTile {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t kv_head = 0;
  std::int64_t first_position = 0;
  std::int64_t slot = 0;
};

// Softmax sums of a tile's queries over some keys, relative to the largest score among them. Scores
// are logarithms to base 2.
struct AttentionPartial {
  float* largest = nullptr;  // [queries]; -inf before the first key
  float* sum = nullptr;      // [queries], of 2^(score - largest)
  float* acc = nullptr;      // [queries, v_dim], of 2^(score - largest) * value
};

// What one thread needs while it works on a tile.
struct AttentionScratch {
  float* q = nullptr;       // [queries, k_dim], scaled
  float* scores = nullptr;  // [queries, page tokens]; then the softmax weights
  // Over a cache of codes, queries and weights are such too, each query's with a factor.
  std::int16_t* q_codes = nullptr;       // [queries, k_dim rounded up to 2]
  std::int16_t* weight_codes = nullptr;  // [queries, page tokens]
  float* q_factors = nullptr;            // [queries]
  float* weight_factors = nullptr;       // [queries]
  AttentionPartial span;
  AttentionPartial total;
};

// Writes a kv head's keys and values of rows [begin, end) to the cache.
using WriteCacheRows = void(const AttentionArgs& args, std::int64_t begin, std::int64_t end,
                            std::int64_t kv_head);

// The inner functions, compiled for one vector level.
struct AttentionFunctions {
  WriteCacheRows* write;
  void (*load_queries)(const AttentionArgs& args, const AttentionTile& tile,
                       const AttentionScratch& scratch);
  // The partial result over the keys of one span that the tile sees.
  void (*attend)(const AttentionArgs& args, const AttentionTile& tile, std::int64_t span,
                 const AttentionScratch& scratch, const AttentionPartial& partial);
  // total += partial.
  void (*merge)(const AttentionShape& shape, std::int64_t queries, const AttentionPartial& partial,
                const AttentionPartial& total);
  // The tile's part of args.out.
  void (*finish)(const AttentionArgs& args, const AttentionTile& tile,
                 const AttentionPartial& total);
};

// Query heads that share a kv head.
inline std::int64_t GroupOf(const AttentionShape& shape) { return shape.heads / shape.kv_heads; }

// The keys and values of all rows to the cache.
void WriteCache(WriteCacheRows* write, const AttentionArgs& args, ThreadPool& pool);

Bytes TiledAttentionWorkspaceBytes(const AttentionShape& shape, const AttentionLimits& limits);
void RunTiledAttention(const AttentionFunctions& functions, const AttentionArgs& args,
                       std::span<std::uint8_t> workspace, ThreadPool& pool);

}  // namespace tonnage
