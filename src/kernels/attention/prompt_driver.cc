#include <algorithm>

#include "base/check.h"
#include "kernels/attention/prompt.h"

namespace tonnage {
namespace {

// Fewer queries than these would leave tiles half empty.
constexpr std::int64_t kLeastQueries = 2 * kTileRows;
// Fewer tasks than this a thread would leave threads without work at the end.
constexpr std::int64_t kTasksPerThread = 3;

std::int64_t MostQueries(const AttentionShape& shape) {
  return std::max(kPromptQueries, GroupOf(shape));
}

// The tiles of a step, cut so that there are enough for the threads.
class Tiles {
 public:
  Tiles(const AttentionArgs& args, std::span<std::uint8_t> workspace, int threads)
      : args_(args), tiles_(reinterpret_cast<AttentionTile*>(workspace.data())) {
    std::int64_t queries = kPromptQueries;
    Cut(queries);
    while (count_ * args.shape.kv_heads < kTasksPerThread * threads && queries > kLeastQueries) {
      Cut(queries /= 2);
    }
  }

  std::int64_t tasks() const { return count_ * args_.shape.kv_heads; }
  // The last tiles of a prompt see the most keys and go first.
  AttentionTile Task(std::int64_t i) const {
    AttentionTile tile = tiles_[count_ - 1 - i / args_.shape.kv_heads];
    tile.kv_head = i % args_.shape.kv_heads;
    return tile;
  }

 private:
  void Cut(std::int64_t queries) {
    const std::int64_t most = std::max<std::int64_t>(1, queries / GroupOf(args_.shape));
    count_ = 0;
    for (std::int64_t row = 0; row < args_.rows;) {
      const std::int64_t limit = std::min(args_.rows - row, most);
      std::int64_t rows = 1;
      while (rows < limit && args_.slots[row + rows] == args_.slots[row]) ++rows;
      tiles_[count_++] = {.first_row = row,
                          .rows = rows,
                          .kv_head = 0,
                          .first_position = args_.positions[row],
                          .slot = args_.slots[row]};
      row += rows;
    }
  }

  const AttentionArgs& args_;
  AttentionTile* tiles_;  // [rows] at most
  std::int64_t count_ = 0;
};

Bytes TileBytes(std::int64_t rows) { return RoundUp(rows * Bytes{sizeof(AttentionTile)}, 64); }

}  // namespace

Bytes TiledPromptWorkspaceBytes(const AttentionShape& shape, const AttentionLimits& limits) {
  return TileBytes(limits.rows) + limits.threads * PromptLayout(shape, MostQueries(shape)).bytes;
}

void RunTiledPrompt(const PromptVariant& variant, const PromptFunctions& functions,
                    const AttentionArgs& args, std::span<std::uint8_t> workspace,
                    ThreadPool& pool) {
  const AttentionShape& shape = args.shape;
  WriteCache(functions.write, args, pool);
  const PromptLayout layout(shape, MostQueries(shape));
  const Tiles tiles(args, workspace, pool.threads());
  std::uint8_t* const scratch = workspace.data() + TileBytes(args.max_rows);
  CHECK_LE(TileBytes(args.max_rows) + pool.threads() * layout.bytes,
           static_cast<Bytes>(workspace.size()));
  pool.Run(tiles.tasks(), [&](std::int64_t i, int thread) {
    variant.begin();
    functions.attend(variant, args, tiles.Task(i), layout,
                     layout.At(scratch + thread * layout.bytes));
    variant.end();
  });
}

}  // namespace tonnage
