#include "kernels/matmul/run.h"

#include <algorithm>
#include <array>

#include "kernels/matmul/row_jobs.h"

namespace tonnage {
namespace {

// A task is worth at least this many bytes of weights, or as much time in arithmetic (about half a
// microsecond), and a thread gets several, so that a late one costs little.
constexpr Bytes kMinTaskCost = 8 * kKiB;
constexpr int kTasksPerThread = 6;
// Panels of a task that are passed once: no more, since threads of one machine were seen to read 5
// and 12 GB/s at the same time.
constexpr Bytes kStreamedPanelBytes = 64 * kKiB;
// Those that a task passes again and again, once a block of rows, stay in the L2 cache.
constexpr Bytes kCachedPanelBytes = 256 * kKiB;

// What a panel costs: its bytes from memory, or the arithmetic on them, about half a byte's time an
// element and row.
Bytes PanelCost(const Job& job) {
  return job.layout.bytes + job.rows * job.weight->k * kPanelRows / 8;
}

std::int64_t SplitIntoTasks(const Call& call, int threads) {
  Bytes total = 0;
  for (const Job& job : call.jobs) total += CeilDiv(job.weight->n, kPanelRows) * PanelCost(job);
  const Bytes target = std::max(kMinTaskCost, total / (threads * kTasksPerThread));
  std::int64_t tasks = 0;
  for (Job& job : call.jobs) {
    const std::int64_t panels = CeilDiv(job.weight->n, kPanelRows);
    job.panels_per_task = std::max<std::int64_t>(1, target / std::max<Bytes>(1, PanelCost(job)));
    const Bytes most = BlocksOf(job, call.blocks) > 1 ? kCachedPanelBytes : kStreamedPanelBytes;
    job.panels_per_task = std::clamp<std::int64_t>(most / std::max<Bytes>(1, job.layout.bytes), 1,
                                                   job.panels_per_task);
    job.first_task = tasks;
    tasks += CeilDiv(panels, job.panels_per_task);
  }
  return tasks;
}

void MultiplyTask(const TileVariant& variant, const Call& call, const Job& job,
                  std::int64_t index) {
  const std::int64_t n = job.weight->n;
  const std::int64_t begin = index * job.panels_per_task;
  const std::int64_t end = std::min(begin + job.panels_per_task, CeilDiv(n, kPanelRows));
  Tile tile = {.layout = &job.layout, .k = call.k};
  for (std::int64_t b = 0; b < BlocksOf(job, call.blocks); ++b) {
    const Block block = BlockOf(call, job, b);
    tile.block = block.data;
    tile.rows = block.rows;
    tile.width = block.width;
    for (int r = 0; r < block.rows; ++r) {
      tile.y[r] = job.y + call.RowAt(block.first_row + r) * n + begin * kPanelRows;
    }
    for (std::int64_t panel = begin; panel < end; ++panel) {
      tile.panel = job.data + panel * job.layout.bytes;
      tile.columns = static_cast<int>(std::min<std::int64_t>(kPanelRows, n - panel * kPanelRows));
      tile.bias = job.bias == nullptr ? nullptr : job.bias + panel * kPanelRows;
      variant.multiply(tile);
      for (int r = 0; r < block.rows; ++r) tile.y[r] += kPanelRows;
    }
  }
}

void Multiply(const TileVariant& variant, const Call& call, ThreadPool& pool) {
  const std::int64_t tasks = SplitIntoTasks(call, pool.threads());
  pool.Run(tasks, [&](std::int64_t task) {
    const Job& job = JobOf<&Job::first_task>(call.jobs, task);
    MultiplyTask(variant, call, job, task - job.first_task);
  });
}

}  // namespace

Bytes PanelWorkspaceBytes(const TileVariant& variant, std::int64_t rows, std::int64_t k,
                          std::int64_t experts) {
  return RowJobsBytes(variant.blocks, rows, k, experts);
}

void RunPanels(const TileVariant& variant, const MatmulArgs& args,
               std::span<std::uint8_t> workspace, ThreadPool& pool) {
  if (args.rows == 0 || args.outputs.empty()) return;
  std::array<Job, kMaxMatmulOutputs> jobs;
  Multiply(variant, PrepareDense(variant.blocks, args, jobs, workspace, pool), pool);
}

void RunExpertPanels(const TileVariant& variant, const ExpertMatmulArgs& args,
                     std::span<std::uint8_t> workspace, ThreadPool& pool) {
  if (args.rows * args.top_k == 0) return;
  Multiply(variant, PrepareExperts(variant.blocks, args, workspace, pool), pool);
}

}  // namespace tonnage
