#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/matmul/prompt.h"

namespace tonnage {
namespace {

// Steps of 32 elements of k whose weights are dequantized at a time. The rows of a pair of blocks
// for so many steps (32 KiB) stay in the L1 cache while they meet every panel of the task.
constexpr std::int64_t kSteps = 16;
// Panels of a task at most: their dequantized weights (16 KiB a panel) stay in the L2 cache.
constexpr std::int64_t kMaxPanels = 16;
// Rows that meet them while they are there; their sums are 16 KiB a panel.
constexpr std::int64_t kMaxBlocks = 32;
// What a task costs beside its panels, in panels: streaming the rows past them.
constexpr std::int64_t kTaskCost = 2;

struct ThreadScratch {
  std::uint16_t weights[kMaxPanels][kSteps * kTileElements];
  float sums[kMaxBlocks][kMaxPanels][kSumElements];
};

std::int64_t StepsOf(std::int64_t k) { return CeilDiv(k, kTileK); }

// Panels a task, chosen so that the tasks of the call fill the threads: with few panels in a task
// the rows are read more often, with many some threads are idle at the end.
std::int64_t PanelsPerTask(const Call& call, int threads) {
  std::int64_t best = 1, best_cost = 0;
  for (std::int64_t panels = 1; panels <= kMaxPanels; ++panels) {
    std::int64_t tasks = 0;
    for (const Job& job : call.jobs) tasks += CeilDiv(CeilDiv(job.weight->n, kPanelRows), panels);
    // Half a task more, since threads do not end together.
    const std::int64_t cost = (2 * CeilDiv(tasks, threads) + 1) * (panels + kTaskCost);
    if (best_cost != 0 && cost > best_cost) continue;
    best = panels;
    best_cost = cost;
  }
  return best;
}

std::int64_t SplitIntoTasks(const Call& call, int threads) {
  const std::int64_t panels = PanelsPerTask(call, threads);
  std::int64_t tasks = 0;
  for (Job& job : call.jobs) {
    job.panels_per_task = panels;
    job.first_task = tasks;
    tasks += CeilDiv(CeilDiv(job.weight->n, kPanelRows), panels);
  }
  return tasks;
}

// Some blocks of a job's rows against some of its panels.
struct Patch {
  const PromptVariant& variant;
  const Call& call;
  const Job& job;
  ThreadScratch& scratch;
  std::int64_t first_panel = 0;
  std::int64_t panels = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
};

const std::uint16_t* RowsAt(const Patch& patch, std::int64_t block, std::int64_t step) {
  const Block rows = BlockOf(patch.call, patch.job, patch.first_block + block);
  return reinterpret_cast<const std::uint16_t*>(rows.data) + step * kTileElements;
}

// Adds steps [first, first + steps) to the sums.
void MultiplySteps(const Patch& patch, std::int64_t first, std::int64_t steps) {
  ThreadScratch& scratch = patch.scratch;
  for (std::int64_t p = 0; p < patch.panels; ++p) {
    patch.variant.dequantize(patch.job.layout, patch.call.k,
                             patch.job.data + (patch.first_panel + p) * patch.job.layout.bytes,
                             first, steps, scratch.weights[p]);
  }
  TileProduct product = {.steps = steps, .add = first > 0};
  for (std::int64_t b = 0; b < patch.blocks; b += 2) {
    product.rows = static_cast<int>(std::min<std::int64_t>(2, patch.blocks - b));
    for (int i = 0; i < product.rows; ++i) product.a[i] = RowsAt(patch, b + i, first);
    for (std::int64_t p = 0; p < patch.panels; p += 2) {
      product.columns = static_cast<int>(std::min<std::int64_t>(2, patch.panels - p));
      for (int j = 0; j < product.columns; ++j) {
        product.b[j] = scratch.weights[p + j];
        for (int i = 0; i < product.rows; ++i) product.c[i][j] = scratch.sums[b + i][p + j];
      }
      patch.variant.multiply(product);
    }
  }
}

// One row's sums with one panel, to its place.
void StoreRow(const Patch& patch, const float* sums, std::int64_t row, std::int64_t panel) {
  const std::int64_t column = panel * kPanelRows, n = patch.job.weight->n;
  const std::int64_t count = std::min<std::int64_t>(kPanelRows, n - column);
  float* const y = patch.job.y + patch.call.RowAt(row) * n + column;
  if (patch.job.bias != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = sums[i] + patch.job.bias[column + i];
  } else if (count == kPanelRows) {
    std::memcpy(y, sums, kPanelRows * sizeof(float));  // a few moves, where others are a call
  } else {
    std::memcpy(y, sums, static_cast<std::size_t>(count) * sizeof(float));
  }
}

void StoreSums(const Patch& patch) {
  for (std::int64_t b = 0; b < patch.blocks; ++b) {
    const Block block = BlockOf(patch.call, patch.job, patch.first_block + b);
    for (int r = 0; r < block.rows; ++r) {
      for (std::int64_t p = 0; p < patch.panels; ++p) {
        StoreRow(patch, patch.scratch.sums[b][p] + r * kPanelRows, block.first_row + r,
                 patch.first_panel + p);
      }
    }
  }
}

void RunTask(const PromptVariant& variant, const Call& call, std::int64_t task,
             ThreadScratch& scratch) {
  const Job& job = JobOf<&Job::first_task>(call.jobs, task);
  const std::int64_t first_panel = (task - job.first_task) * job.panels_per_task;
  Patch patch = {
      .variant = variant,
      .call = call,
      .job = job,
      .scratch = scratch,
      .first_panel = first_panel,
      .panels = std::min(job.panels_per_task, CeilDiv(job.weight->n, kPanelRows) - first_panel)};
  const std::int64_t all_blocks = BlocksOf(job, call.blocks), all_steps = StepsOf(call.k);
  for (; patch.first_block < all_blocks; patch.first_block += kMaxBlocks) {
    patch.blocks = std::min(kMaxBlocks, all_blocks - patch.first_block);
    for (std::int64_t step = 0; step < all_steps; step += kSteps)
      MultiplySteps(patch, step, std::min(kSteps, all_steps - step));
    StoreSums(patch);
  }
}

void Multiply(const PromptVariant& variant, const Call& call, std::span<std::uint8_t> scratch,
              ThreadPool& pool) {
  CHECK_GE(scratch.size(), sizeof(ThreadScratch) * static_cast<std::size_t>(pool.threads()));
  auto* const scratches = reinterpret_cast<ThreadScratch*>(scratch.data());
  const std::int64_t tasks = SplitIntoTasks(call, pool.threads());
  pool.Run(tasks, [&](std::int64_t task, int thread) {
    variant.begin();
    RunTask(variant, call, task, scratches[thread]);
    variant.end();
  });
}

}  // namespace

Bytes PromptWorkspaceBytes(const PromptVariant& variant, std::int64_t rows, std::int64_t k,
                           std::int64_t experts, int threads) {
  return RowJobsBytes(variant.blocks, rows, k, experts) +
         static_cast<Bytes>(sizeof(ThreadScratch)) * threads;
}

void RunPanels(const PromptVariant& variant, const MatmulArgs& args,
               std::span<std::uint8_t> workspace, ThreadPool& pool) {
  if (args.rows == 0 || args.outputs.empty()) return;
  std::array<Job, kMaxMatmulOutputs> jobs;
  const Call call = PrepareDense(variant.blocks, args, jobs, workspace, pool);
  const Bytes taken = RowJobsBytes(variant.blocks, args.rows, args.k, 1);
  Multiply(variant, call, workspace.subspan(static_cast<std::size_t>(taken)), pool);
}

void RunExpertPanels(const PromptVariant& variant, const ExpertMatmulArgs& args,
                     std::span<std::uint8_t> workspace, ThreadPool& pool) {
  const std::int64_t pairs = args.rows * args.top_k;
  if (pairs == 0) return;
  const Call call = PrepareExperts(variant.blocks, args, workspace, pool);
  const Bytes taken = RowJobsBytes(variant.blocks, pairs, args.weight->k, args.weight->experts);
  Multiply(variant, call, workspace.subspan(static_cast<std::size_t>(taken)), pool);
}

}  // namespace tonnage
