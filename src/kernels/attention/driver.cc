#include "kernels/attention/driver.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace tonnage {
namespace {

// Queries that share the keys which were brought into the cache for them.
constexpr std::int64_t kTileQueries = 48;
// Fewer tasks than this a thread would leave threads without work at the end.
constexpr std::int64_t kTasksPerThread = 4;
// Multiply-adds that one thread has done before a second one could help: about 3 us.
constexpr double kForkMultiplyAdds = 100000.0;
// Elements of keys and values that a thread has written before a second one could help.
constexpr std::int64_t kSerialWriteElements = 4096;

std::int64_t TasksWanted(int threads) { return kTasksPerThread * threads; }

std::int64_t MaxTileQueries(const AttentionShape& shape) {
  return std::max(kTileQueries, GroupOf(shape));
}

// A tile with the spans in which some row of it sees a key.
struct TileWork {
  AttentionTile tile;  // of kv head 0
  std::int64_t first_span = 0;
  std::int64_t spans = 0;
  std::int64_t first_partial = 0;  // of the tile's [kv_heads, spans], when spans are split
};

// Spans of a tile and kv head that are still to be done.
using SpansLeft = std::atomic<std::int32_t>;

// How the workspace is laid out: tiles, then a scratch for each thread, then what is left of each
// tile and kv head, then partial results. The last two only if spans are split.
struct Layout {
  Layout(const AttentionShape& shape, std::int64_t rows, int threads)
      : queries(MaxTileQueries(shape)),
        v_dim(shape.v_dim),
        k_dim(shape.k_dim),
        tile_bytes(RoundUp(rows * Bytes{sizeof(TileWork)}, 64)),
        codes_offset(
            FloatBytes(queries * (k_dim + kAttentionPageTokens + 2) + 2 * PartialFloats(queries))),
        scratch_bytes(codes_offset + CodeBytes(queries * CodesOfQuery())),
        partial_bytes(FloatBytes(PartialFloats(GroupOf(shape)))),
        left_offset(tile_bytes + threads * scratch_bytes),
        partials_offset(left_offset +
                        RoundUp(TasksWanted(threads) * Bytes{sizeof(SpansLeft)}, 64)) {}

  static Bytes FloatBytes(std::int64_t floats) {
    return RoundUp(floats * Bytes{sizeof(float)}, 64);
  }
  static Bytes CodeBytes(std::int64_t codes) {
    return RoundUp(codes * Bytes{sizeof(std::int16_t)}, 64);
  }
  std::int64_t PartialFloats(std::int64_t count) const { return count * (2 + v_dim); }
  // Of the query itself, and of its weights.
  std::int64_t CodesOfQuery() const { return RoundUp(k_dim, 2) + kAttentionPageTokens; }

  static AttentionPartial PartialAt(float* data, std::int64_t count) {
    return {.largest = data, .sum = data + count, .acc = data + 2 * count};
  }
  AttentionScratch Scratch(std::uint8_t* workspace, int thread) const {
    std::uint8_t* begin = workspace + tile_bytes + thread * scratch_bytes;
    auto* data = reinterpret_cast<float*>(begin);
    auto* codes = reinterpret_cast<std::int16_t*>(begin + codes_offset);
    float* scores = data + queries * k_dim;
    float* factors = scores + queries * kAttentionPageTokens;
    float* partials = factors + 2 * queries;
    return {.q = data,
            .scores = scores,
            .q_codes = codes + queries * kAttentionPageTokens,
            .weight_codes = codes,
            .q_factors = factors,
            .weight_factors = factors + queries,
            .span = PartialAt(partials, queries),
            .total = PartialAt(partials + PartialFloats(queries), queries)};
  }
  // The n-th partial result of a tile of one row.
  AttentionPartial Partial(std::uint8_t* workspace, std::int64_t n, std::int64_t group) const {
    return PartialAt(reinterpret_cast<float*>(workspace + partials_offset + n * partial_bytes),
                     group);
  }

  std::int64_t queries, v_dim, k_dim;
  Bytes tile_bytes, codes_offset, scratch_bytes, partial_bytes, left_offset, partials_offset;
};

std::int64_t MaxSpans(const AttentionShape& shape, std::int64_t context_tokens) {
  const std::int64_t all = CeilDiv(context_tokens, kAttentionSpanTokens);
  return shape.window == 0 ? all : std::min(all, CeilDiv(shape.window, kAttentionSpanTokens) + 1);
}

// One run over the cache for a step.
class TiledAttention {
 public:
  TiledAttention(const AttentionFunctions& functions, const AttentionArgs& args,
                 std::span<std::uint8_t> workspace, std::int64_t max_rows, ThreadPool& pool)
      : functions_(functions),
        args_(args),
        shape_(args.shape),
        group_(GroupOf(args.shape)),
        workspace_(workspace.data()),
        layout_(args.shape, max_rows, pool.threads()),
        tiles_(reinterpret_cast<TileWork*>(workspace.data())),
        pool_(pool) {}

  void Run() {
    WriteCache(functions_.write, args_, pool_);
    std::int64_t tile_rows = std::max<std::int64_t>(1, kTileQueries / group_);
    MakeTiles(tile_rows);
    // Sums come out the same however tiles are cut and spans are handed out: this is about time.
    const bool is_small = MultiplyAdds() < kForkMultiplyAdds;
    const std::int64_t wanted = is_small ? 0 : TasksWanted(pool_.threads());
    while (tile_rows > 1 && tile_count_ * shape_.kv_heads < wanted) {
      tile_rows = (tile_rows + 1) / 2;
      MakeTiles(tile_rows);
    }
    const bool is_split = tile_rows == 1 && tile_count_ * shape_.kv_heads < wanted &&
                          partial_count_ > tile_count_ * shape_.kv_heads;
    if (is_split) {
      RunSplit();
    } else if (is_small) {
      for (std::int64_t i = 0; i < tile_count_ * shape_.kv_heads; ++i) RunTile(i, 0);
    } else {
      pool_.Run(tile_count_ * shape_.kv_heads,
                [&](std::int64_t i, int thread) { RunTile(i, thread); });
    }
  }

 private:
  // Neighbouring rows of one slot, at most `tile_rows` of them.
  void MakeTiles(std::int64_t tile_rows) {
    tile_count_ = 0;
    partial_count_ = 0;
    for (std::int64_t row = 0; row < args_.rows;) {
      const std::int64_t limit = std::min(args_.rows - row, tile_rows);
      std::int64_t rows = 1;
      while (rows < limit && args_.slots[row + rows] == args_.slots[row]) ++rows;
      const std::int64_t position = args_.positions[row];
      const std::int64_t first_key =
          shape_.window == 0 ? 0 : std::max<std::int64_t>(0, position - shape_.window + 1);
      const std::int64_t first_span = first_key / kAttentionSpanTokens;
      const std::int64_t spans = (position + rows - 1) / kAttentionSpanTokens + 1 - first_span;
      tiles_[tile_count_++] = {.tile = {.first_row = row,
                                        .rows = rows,
                                        .kv_head = 0,
                                        .first_position = position,
                                        .slot = args_.slots[row]},
                               .first_span = first_span,
                               .spans = spans,
                               .first_partial = partial_count_};
      partial_count_ += spans * shape_.kv_heads;
      row += rows;
    }
  }

  // At most: windows and the diagonal make it less.
  double MultiplyAdds() const {
    double keys = 0.0;
    for (std::int64_t t = 0; t < tile_count_; ++t) {
      const AttentionTile& tile = tiles_[t].tile;
      keys += static_cast<double>(tile.rows * (tile.first_position + tile.rows));
    }
    return keys * static_cast<double>(shape_.heads * (shape_.k_dim + shape_.v_dim));
  }

  void Clear(const AttentionPartial& total, std::int64_t queries) const {
    std::fill(total.largest, total.largest + queries, -std::numeric_limits<float>::infinity());
    std::fill(total.sum, total.sum + queries, 0.0f);
    std::fill(total.acc, total.acc + queries * shape_.v_dim, 0.0f);
  }

  // The i-th tile and kv head. The last tiles of a prefill see the most keys and go first.
  void RunTile(std::int64_t i, int thread) {
    const TileWork& work = tiles_[tile_count_ - 1 - i / shape_.kv_heads];
    AttentionTile tile = work.tile;
    tile.kv_head = i % shape_.kv_heads;
    const std::int64_t queries = tile.rows * group_;
    const AttentionScratch scratch = layout_.Scratch(workspace_, thread);
    functions_.load_queries(args_, tile, scratch);
    Clear(scratch.total, queries);
    for (std::int64_t s = 0; s < work.spans; ++s) {
      functions_.attend(args_, tile, work.first_span + s, scratch, scratch.span);
      functions_.merge(shape_, queries, scratch.span, scratch.total);
    }
    functions_.finish(args_, tile, scratch.total);
  }

  // A task for each span of each tile and kv head; the last one of these merges them.
  void RunSplit() {
    auto* const left = reinterpret_cast<SpansLeft*>(workspace_ + layout_.left_offset);
    for (std::int64_t i = 0; i < tile_count_ * shape_.kv_heads; ++i) {
      left[i].store(static_cast<std::int32_t>(tiles_[i / shape_.kv_heads].spans),
                    std::memory_order_relaxed);
    }
    pool_.Run(partial_count_, [&](std::int64_t i, int thread) {
      std::int64_t t = tile_count_ - 1;
      while (tiles_[t].first_partial > i) --t;
      const TileWork& work = tiles_[t];
      AttentionTile tile = work.tile;
      tile.kv_head = (i - work.first_partial) / work.spans;
      const std::int64_t span = work.first_span + (i - work.first_partial) % work.spans;
      const AttentionScratch scratch = layout_.Scratch(workspace_, thread);
      functions_.load_queries(args_, tile, scratch);
      functions_.attend(args_, tile, span, scratch, layout_.Partial(workspace_, i, group_));
      SpansLeft& spans_left = left[t * shape_.kv_heads + tile.kv_head];
      if (spans_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        MergeSpans(work, tile, scratch.total);
      }
    });
  }

  void MergeSpans(const TileWork& work, const AttentionTile& tile, const AttentionPartial& total) {
    Clear(total, group_);
    for (std::int64_t s = 0; s < work.spans; ++s) {
      const std::int64_t n = work.first_partial + tile.kv_head * work.spans + s;
      functions_.merge(shape_, group_, layout_.Partial(workspace_, n, group_), total);
    }
    functions_.finish(args_, tile, total);
  }

  const AttentionFunctions& functions_;
  const AttentionArgs& args_;
  const AttentionShape& shape_;
  const std::int64_t group_;
  std::uint8_t* workspace_;
  const Layout layout_;
  TileWork* tiles_;
  ThreadPool& pool_;
  std::int64_t tile_count_ = 0;
  std::int64_t partial_count_ = 0;
};

}  // namespace

void WriteCache(WriteCacheRows* write, const AttentionArgs& args, ThreadPool& pool) {
  const AttentionShape& shape = args.shape;
  const std::int64_t kv_heads = shape.kv_heads;
  if (args.rows * kv_heads * (shape.k_dim + shape.v_dim) <= kSerialWriteElements) {
    for (std::int64_t g = 0; g < kv_heads; ++g) write(args, 0, args.rows, g);
    return;
  }
  // A kv head's part of a prompt's page by one thread: neighbouring keys share cache lines.
  const std::int64_t before = args.positions[0] % kAttentionPageTokens;
  const std::int64_t blocks = CeilDiv(before + args.rows, kAttentionPageTokens);
  pool.Run(blocks * kv_heads, [&](std::int64_t i) {
    const std::int64_t begin = i / kv_heads * kAttentionPageTokens - before;
    write(args, std::max<std::int64_t>(0, begin), std::min(args.rows, begin + kAttentionPageTokens),
          i % kv_heads);
  });
}

Bytes TiledAttentionWorkspaceBytes(const AttentionShape& shape, const AttentionLimits& limits) {
  const Layout layout(shape, limits.rows, limits.threads);
  const std::int64_t split_tasks =
      std::min(limits.rows * shape.kv_heads, TasksWanted(limits.threads) - 1);
  return layout.partials_offset +
         split_tasks * MaxSpans(shape, limits.context_tokens) * layout.partial_bytes;
}

void RunTiledAttention(const AttentionFunctions& functions, const AttentionArgs& args,
                       std::span<std::uint8_t> workspace, ThreadPool& pool) {
  TiledAttention(functions, args, workspace, args.max_rows, pool).Run();
}

}  // namespace tonnage
