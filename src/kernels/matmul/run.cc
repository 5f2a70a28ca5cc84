#include "kernels/matmul/run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace tonnage {
namespace {

constexpr Bytes kLine = 64;
// A task is worth at least this many bytes of weights, or as much time in arithmetic (about half a
// microsecond), and a thread gets several, so that a late one costs little.
constexpr Bytes kMinTaskCost = 8 * kKiB;
constexpr int kTasksPerThread = 6;
// Panels that a task passes again and again, once a block of rows, stay in the L2 cache.
constexpr Bytes kCachedPanelBytes = 256 * kKiB;
// Preparing fewer elements than this is not worth waking the pool.
constexpr std::int64_t kSerialPrepareElements = 8192;

// One matrix times the rows that it is for: every row of a dense call, or those that chose an
// expert.
struct Job {
  const PackedWeight* weight = nullptr;
  PanelLayout layout;
  const std::uint8_t* data = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  std::int64_t first_row = 0;  // in sorted order
  std::int64_t rows = 0;
  std::int64_t first_prepared = 0;  // prepared rows before this job's, padding included
  std::int64_t first_block = 0;
  std::int64_t panels_per_task = 1;
  std::int64_t first_task = 0;
};

struct Call {
  const TileVariant& variant;
  const float* x = nullptr;
  std::int64_t k = 0;
  std::int64_t rows_per_x = 1;          // consecutive rows that read the same x
  const std::int32_t* order = nullptr;  // [rows] sorted -> row; null is the identity
  std::uint8_t* prepared = nullptr;

  std::int64_t RowAt(std::int64_t sorted) const {
    return order == nullptr ? sorted : order[sorted];
  }
};

int BlockWidth(const TileVariant& variant, std::int64_t rows) {
  if (rows >= variant.max_width) return variant.max_width;
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
}

// Rows of all blocks, padding included.
std::int64_t PaddedRows(const TileVariant& variant, std::int64_t rows) {
  const std::int64_t tail = rows % variant.max_width;
  return rows - tail + (tail == 0 ? 0 : BlockWidth(variant, tail));
}

// Padding adds less than half a block to an expert's rows, and less than the rows themselves.
std::int64_t MaxPreparedRows(const TileVariant& variant, std::int64_t rows, std::int64_t experts) {
  if (experts == 1) return PaddedRows(variant, rows);
  return std::min(rows + experts * (variant.max_width / 2), 2 * rows);
}

std::int64_t BlocksOf(const Job& job, const TileVariant& variant) {
  return CeilDiv(job.rows, variant.max_width);
}

struct Block {
  std::int64_t first_row = 0;  // in sorted order
  int rows = 0;
  int width = 0;
  std::uint8_t* data = nullptr;
};

Block BlockOf(const Call& call, const Job& job, std::int64_t index) {
  const std::int64_t before = index * call.variant.max_width;
  const std::int64_t rows = std::min<std::int64_t>(call.variant.max_width, job.rows - before);
  return {job.first_row + before, static_cast<int>(rows), BlockWidth(call.variant, rows),
          call.prepared + (job.first_prepared + before) * call.variant.row_bytes(call.k)};
}

template <auto kFirst>
const Job& JobOf(std::span<const Job> jobs, std::int64_t index) {
  const auto after =
      std::upper_bound(jobs.begin(), jobs.end(), index,
                       [](std::int64_t i, const Job& job) { return i < job.*kFirst; });
  return *std::prev(after);
}

void PrepareBlock(const Call& call, const Job& job, std::int64_t index) {
  const Block block = BlockOf(call, job, index);
  const float* x[kMaxBlockRows];
  for (int r = 0; r < block.rows; ++r) {
    x[r] = call.x + call.RowAt(block.first_row + r) / call.rows_per_x * call.k;
  }
  call.variant.prepare(x, block.rows, block.width, call.k, block.data);
}

void Prepare(const Call& call, std::span<Job> jobs, ThreadPool& pool) {
  std::int64_t blocks = 0, rows = 0;
  for (Job& job : jobs) {
    job.first_block = blocks;
    blocks += BlocksOf(job, call.variant);
    rows += job.rows;
  }
  const auto task = [&](std::int64_t block) {
    const Job& job = JobOf<&Job::first_block>(jobs, block);
    PrepareBlock(call, job, block - job.first_block);
  };
  if (rows * call.k <= kSerialPrepareElements) {
    for (std::int64_t block = 0; block < blocks; ++block) task(block);
  } else {
    pool.Run(blocks, task);
  }
}

// What a panel costs: its bytes from memory, or the arithmetic on them, about half a byte's time an
// element and row.
Bytes PanelCost(const Job& job) {
  return job.layout.bytes + job.rows * job.weight->k * kPanelRows / 8;
}

std::int64_t SplitIntoTasks(const Call& call, std::span<Job> jobs, int threads) {
  Bytes total = 0;
  for (const Job& job : jobs) total += CeilDiv(job.weight->n, kPanelRows) * PanelCost(job);
  const Bytes target = std::max(kMinTaskCost, total / (threads * kTasksPerThread));
  std::int64_t tasks = 0;
  for (Job& job : jobs) {
    const std::int64_t panels = CeilDiv(job.weight->n, kPanelRows);
    job.panels_per_task = std::max<std::int64_t>(1, target / std::max<Bytes>(1, PanelCost(job)));
    if (BlocksOf(job, call.variant) > 1) {
      const Bytes cached = kCachedPanelBytes / std::max<Bytes>(1, job.layout.bytes);
      job.panels_per_task = std::clamp<std::int64_t>(cached, 1, job.panels_per_task);
    }
    job.first_task = tasks;
    tasks += CeilDiv(panels, job.panels_per_task);
  }
  return tasks;
}

void MultiplyTask(const Call& call, const Job& job, std::int64_t index) {
  const std::int64_t n = job.weight->n;
  const std::int64_t begin = index * job.panels_per_task;
  const std::int64_t end = std::min(begin + job.panels_per_task, CeilDiv(n, kPanelRows));
  Tile tile = {.layout = &job.layout, .k = call.k};
  for (std::int64_t b = 0; b < BlocksOf(job, call.variant); ++b) {
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
      call.variant.multiply(tile);
      for (int r = 0; r < block.rows; ++r) tile.y[r] += kPanelRows;
    }
  }
}

void Multiply(const Call& call, std::span<Job> jobs, ThreadPool& pool) {
  const std::int64_t tasks = SplitIntoTasks(call, jobs, pool.threads());
  pool.Run(tasks, [&](std::int64_t task) {
    const Job& job = JobOf<&Job::first_task>(jobs, task);
    MultiplyTask(call, job, task - job.first_task);
  });
}

// Parts of the workspace, in this order, each on a line of its own.
struct WorkspaceLayout {
  Bytes prepared = 0;
  Bytes order = 0;   // [rows] i32
  Bytes counts = 0;  // [experts] i64
  Bytes jobs = 0;    // [experts]
  Bytes Total() const { return prepared + order + counts + jobs; }
};

WorkspaceLayout LayoutWorkspace(const TileVariant& variant, std::int64_t rows, std::int64_t k,
                                std::int64_t experts) {
  return {
      RoundUp(MaxPreparedRows(variant, rows, experts) * variant.row_bytes(k), kLine),
      RoundUp(rows * static_cast<Bytes>(sizeof(std::int32_t)), kLine),
      RoundUp(experts * static_cast<Bytes>(sizeof(std::int64_t)), kLine),
      RoundUp(experts * static_cast<Bytes>(sizeof(Job)), kLine),
  };
}

// Counting sort of the pairs by expert into `order`, rising within an expert; counts[e] becomes
// where expert e's pairs end. Pairs without an expert get zeros instead of a place.
void SortByExpert(const ExpertMatmulArgs& args, std::int32_t* order,
                  std::span<std::int64_t> counts) {
  const std::int64_t pairs = args.rows * args.top_k;
  const auto valid = [&](std::int64_t pair) {
    return args.ids[pair] >= 0 && args.ids[pair] < args.weight->experts;
  };
  std::fill(counts.begin(), counts.end(), 0);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    if (valid(pair)) {
      ++counts[static_cast<std::size_t>(args.ids[pair])];
    } else {
      std::fill_n(args.y + pair * args.weight->n, args.weight->n, 0.0f);
    }
  }
  std::int64_t sum = 0;
  for (std::int64_t& count : counts) {
    const std::int64_t start = sum;
    sum += count;
    count = start;
  }
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    if (!valid(pair)) continue;
    order[counts[static_cast<std::size_t>(args.ids[pair])]++] = static_cast<std::int32_t>(pair);
  }
}

}  // namespace

Bytes PanelWorkspaceBytes(const TileVariant& variant, std::int64_t rows, std::int64_t k,
                          std::int64_t experts) {
  return LayoutWorkspace(variant, rows, k, experts).Total();
}

void RunPanels(const TileVariant& variant, const MatmulArgs& args,
               std::span<std::uint8_t> workspace, ThreadPool& pool) {
  CHECK_LE(args.outputs.size(), static_cast<std::size_t>(kMaxMatmulOutputs));
  if (args.rows == 0 || args.outputs.empty()) return;
  CHECK_GE(static_cast<Bytes>(workspace.size()),
           PaddedRows(variant, args.rows) * variant.row_bytes(args.k));
  std::array<Job, kMaxMatmulOutputs> storage;
  const auto jobs = std::span(storage).first(args.outputs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const MatmulOutput& output = args.outputs[i];
    jobs[i] = {.weight = output.weight,
               .layout = LayoutPanel(output.weight->format, args.k),
               .data = output.weight->data,
               .bias = output.bias,
               .y = output.y,
               .rows = args.rows};
  }
  const Call call = {.variant = variant, .x = args.x, .k = args.k, .prepared = workspace.data()};
  Prepare(call, jobs.first(1), pool);
  Multiply(call, jobs, pool);
}

void RunExpertPanels(const TileVariant& variant, const ExpertMatmulArgs& args,
                     std::span<std::uint8_t> workspace, ThreadPool& pool) {
  const std::int64_t pairs = args.rows * args.top_k;
  if (pairs == 0) return;
  const PackedWeight& weight = *args.weight;
  const WorkspaceLayout parts = LayoutWorkspace(variant, pairs, weight.k, weight.experts);
  CHECK_GE(static_cast<Bytes>(workspace.size()), parts.Total());
  std::uint8_t* at = workspace.data() + parts.prepared;
  auto* const order = reinterpret_cast<std::int32_t*>(at);
  at += parts.order;
  const std::span counts(reinterpret_cast<std::int64_t*>(at),
                         static_cast<std::size_t>(weight.experts));
  at += parts.counts;
  auto* const all_jobs = reinterpret_cast<Job*>(at);

  SortByExpert(args, order, counts);
  const PanelLayout layout = LayoutPanel(weight.format, weight.k);
  const Bytes expert_bytes = PanelBytes(weight.format, weight.n, weight.k);
  std::size_t used = 0;
  std::int64_t first_row = 0, prepared = 0;
  for (std::int64_t e = 0; e < weight.experts; ++e) {
    const std::int64_t rows = counts[static_cast<std::size_t>(e)] - first_row;
    if (rows == 0) continue;
    all_jobs[used++] = {.weight = &weight,
                        .layout = layout,
                        .data = weight.data + e * expert_bytes,
                        .y = args.y,
                        .first_row = first_row,
                        .rows = rows,
                        .first_prepared = prepared};
    first_row += rows;
    prepared += PaddedRows(variant, rows);
  }
  if (used == 0) return;
  const Call call = {.variant = variant,
                     .x = args.x,
                     .k = weight.k,
                     .rows_per_x = args.input_per_expert ? 1 : args.top_k,
                     .order = order,
                     .prepared = workspace.data()};
  const std::span jobs(all_jobs, used);
  Prepare(call, jobs, pool);
  Multiply(call, jobs, pool);
}

}  // namespace tonnage
