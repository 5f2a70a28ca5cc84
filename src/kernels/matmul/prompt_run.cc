#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/matmul/prompt.h"

namespace tonnage {
namespace {

// Panels of a task at most, and rows that pass them at a time, in blocks: the sums of both (512
// KiB) and a slice of the rows stay in the L2 cache.
constexpr std::int64_t kMaxPanels = 16;
constexpr std::int64_t kMaxBlocks = 32;
// What a task costs beside its panels, in panels: reading the rows from beyond the L2 cache.
constexpr std::int64_t kTaskCost = 2;

struct ThreadScratch {
  std::uint16_t weights[2][kSliceSteps * kTileElements];
  float sums[kMaxPanels / 2][kMaxBlocks][2][kSumElements];
};

std::int64_t StepsOf(std::int64_t k) { return CeilDiv(k, kTileK); }

// Panels a task, chosen so that the tasks of the call fill the threads: with few panels in a task
// the rows are read more often, with many some threads are idle at the end.
std::int64_t PanelsPerTask(const Call& call, int threads) {
  std::int64_t best = 2, best_cost = 0;
  for (std::int64_t panels = 2; panels <= kMaxPanels; panels += 2) {
    std::int64_t tasks = 0;
    for (const Job& job : call.jobs) tasks += CeilDiv(CeilDiv(job.weight->n, kPanelRows), panels);
    // A task more, since threads are not equally fast and do not end together.
    const std::int64_t cost = (CeilDiv(tasks, threads) + 1) * (panels + kTaskCost);
    if (best_cost != 0 && cost >= best_cost) continue;
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

// Panels `first` and, for two columns, the one after it, and the slice of k that begins at `step`.
struct Pair {
  std::int64_t first = 0;  // in the patch
  int columns = 0;
  std::int64_t step = 0;
  std::int64_t steps = 0;
  bool is_last = false;  // of the slices
};

Pair PairAt(const Patch& patch, std::int64_t first, std::int64_t step) {
  const std::int64_t left = StepsOf(patch.call.k) - step;
  return {.first = first,
          .columns = static_cast<int>(std::min<std::int64_t>(2, patch.panels - first)),
          .step = step,
          .steps = std::min(kSliceSteps, left),
          .is_last = left <= kSliceSteps};
}

// What is dequantized after a pair, which the rows' passing leaves time to fetch.
class NextWeights {
 public:
  NextWeights(const Patch& patch, const Pair& pair) {
    const bool is_same_slice = pair.first + 2 < patch.panels;
    if (!is_same_slice && pair.is_last) return;
    const Pair next = is_same_slice ? PairAt(patch, pair.first + 2, pair.step)
                                    : PairAt(patch, 0, pair.step + pair.steps);
    const Bytes all = patch.job.layout.bytes, steps = StepsOf(patch.call.k);
    const Bytes begin = all * next.step / steps;
    data_ = patch.job.data + (patch.first_panel + next.first) * all + begin;
    panel_bytes_ = all;
    columns_ = next.columns;
    lines_ = CeilDiv(all * (next.step + next.steps) / steps - begin, kLine);
  }

  // The `part`-th of `parts` parts.
  void Fetch(std::int64_t part, std::int64_t parts) const {
    const Bytes end = lines_ * (part + 1) / parts;
    for (Bytes line = lines_ * part / parts; line < end; ++line) {
      for (int j = 0; j < columns_; ++j) {
        __builtin_prefetch(data_ + j * panel_bytes_ + line * kLine, 0, 2);
      }
    }
  }

 private:
  static constexpr Bytes kLine = 64;
  const std::uint8_t* data_ = nullptr;
  Bytes panel_bytes_ = 0;
  int columns_ = 0;
  Bytes lines_ = 0;
};

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

void StoreSums(const Patch& patch, const Pair& pair, const Block& block,
               float (*sums)[kSumElements]) {
  for (int r = 0; r < block.rows; ++r) {
    for (int j = 0; j < pair.columns; ++j) {
      StoreRow(patch, sums[j] + r * kPanelRows, block.first_row + r,
               patch.first_panel + pair.first + j);
    }
  }
}

// Whether tiles of sums can be stored where they belong as they are.
bool IsPlain(const Patch& patch, const Pair& pair, const Block& block) {
  const std::int64_t end = patch.first_panel + pair.first + pair.columns;
  return patch.call.order == nullptr && patch.job.bias == nullptr && block.rows == kTileRows &&
         end * kPanelRows <= patch.job.weight->n;
}

// Adds a slice to the sums of all blocks with a pair of panels.
void MultiplyPair(const Patch& patch, const Pair& pair) {
  ThreadScratch& scratch = patch.scratch;
  const Job& job = patch.job;
  TileProduct product = {.columns = pair.columns, .steps = pair.steps};
  for (int j = 0; j < pair.columns; ++j) {
    patch.variant.dequantize(job.layout, patch.call.k,
                             job.data + (patch.first_panel + pair.first + j) * job.layout.bytes,
                             pair.step, pair.steps, scratch.weights[j]);
    product.b[j] = scratch.weights[j];
  }
  const NextWeights next(patch, pair);
  for (std::int64_t b = 0; b < patch.blocks; ++b) {
    const Block block = BlockOf(patch.call, job, patch.first_block + b, pair.step * kTileK);
    const bool is_direct = pair.is_last && IsPlain(patch, pair, block);
    float(*const sums)[kSumElements] = scratch.sums[pair.first / 2][b];
    product.a = reinterpret_cast<const std::uint16_t*>(block.data);
    product.stride = is_direct ? job.weight->n : kPanelRows;
    for (int j = 0; j < pair.columns; ++j) {
      const std::int64_t column = (patch.first_panel + pair.first + j) * kPanelRows;
      product.from[j] = pair.step > 0 ? sums[j] : nullptr;
      product.to[j] = is_direct ? job.y + block.first_row * job.weight->n + column : sums[j];
    }
    patch.variant.multiply(product);
    if (pair.is_last && !is_direct) StoreSums(patch, pair, block, sums);
    next.Fetch(b, patch.blocks);
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
    for (std::int64_t step = 0; step < all_steps; step += kSliceSteps) {
      for (std::int64_t first = 0; first < patch.panels; first += 2)
        MultiplyPair(patch, PairAt(patch, first, step));
    }
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
  const PackedWeight& weight = *args.outputs[0].weight;
  const Bytes taken = RowJobsBytes(variant.blocks, pairs, weight.k, weight.experts);
  Multiply(variant, call, workspace.subspan(static_cast<std::size_t>(taken)), pool);
}

}  // namespace tonnage
