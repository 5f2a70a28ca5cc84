#include "kernels/matmul/row_jobs.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace tonnage {
namespace {

constexpr Bytes kLine = 64;
// Preparing fewer elements than this is not worth waking the pool.
constexpr std::int64_t kSerialPrepareElements = 8192;
// What a task prepares at most; for any width of a block so many columns are whole groups.
constexpr std::int64_t kPrepareElements = 4096;

int BlockWidth(const RowBlocks& blocks, std::int64_t rows) {
  if (rows >= blocks.max_width) return blocks.max_width;
  const int width = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  return std::max(blocks.min_width, width);
}

// Rows of all blocks, padding included.
std::int64_t PaddedRows(const RowBlocks& blocks, std::int64_t rows) {
  const std::int64_t tail = rows % blocks.max_width;
  return rows - tail + (tail == 0 ? 0 : BlockWidth(blocks, tail));
}

// A block is padded to the next power of two, which adds less than the rows that it has and less
// than half of a whole one, or to its least width.
std::int64_t MaxPreparedRows(const RowBlocks& blocks, std::int64_t rows, std::int64_t experts) {
  if (experts == 1) return PaddedRows(blocks, rows);
  const std::int64_t padding = std::max(blocks.min_width - 1, blocks.max_width / 2);
  return std::min(rows + experts * padding, rows * std::max(2, blocks.min_width));
}

// Elements of k that a task prepares of a block: a share of one slice.
std::int64_t PartLength(const RowBlocks& blocks) {
  return std::min(blocks.slice, kPrepareElements / blocks.max_width);
}

void PreparePart(const Call& call, const Job& job, std::int64_t index, std::int64_t first) {
  const Block block = BlockOf(call, job, index, first);
  const float* x[kMaxBlockRows];
  for (int r = 0; r < block.rows; ++r) {
    x[r] = call.x + call.RowAt(block.first_row + r) / call.rows_per_x * call.k + first;
  }
  const std::int64_t length = std::min(PartLength(call.blocks), call.k - first);
  call.blocks.prepare(x, block.rows, block.width, length, block.data);
}

void Prepare(const Call& call, std::span<Job> jobs, ThreadPool& pool) {
  std::int64_t blocks = 0, rows = 0;
  for (Job& job : jobs) {
    job.first_block = blocks;
    blocks += BlocksOf(job, call.blocks);
    rows += job.rows;
  }
  const std::int64_t length = PartLength(call.blocks), parts = CeilDiv(call.k, length);
  const auto task = [&](std::int64_t i) {
    const std::int64_t block = i / parts;
    const Job& job = JobOf<&Job::first_block>(jobs, block);
    PreparePart(call, job, block - job.first_block, i % parts * length);
  };
  if (rows * call.k <= kSerialPrepareElements) {
    for (std::int64_t i = 0; i < blocks * parts; ++i) task(i);
  } else {
    pool.Run(blocks * parts, task);
  }
}

// Parts of the workspace, in this order, each on a line of its own.
struct WorkspaceLayout {
  Bytes prepared = 0;
  Bytes order = 0;   // [rows] i32
  Bytes counts = 0;  // [experts] i64
  Bytes jobs = 0;    // [outputs, experts]
  Bytes Total() const { return prepared + order + counts + jobs; }
};

WorkspaceLayout LayoutWorkspace(const RowBlocks& blocks, std::int64_t rows, std::int64_t k,
                                std::int64_t experts) {
  return {
      RoundUp(MaxPreparedRows(blocks, rows, experts) * blocks.row_bytes(k), kLine),
      RoundUp(rows * static_cast<Bytes>(sizeof(std::int32_t)), kLine),
      RoundUp(experts * static_cast<Bytes>(sizeof(std::int64_t)), kLine),
      RoundUp(kMaxExpertOutputs * experts * static_cast<Bytes>(sizeof(Job)), kLine),
  };
}

// Counting sort of the pairs by expert into `order`, rising within an expert; counts[e] becomes
// where expert e's pairs end. Pairs without an expert get zeros instead of a place.
void SortByExpert(const ExpertMatmulArgs& args, std::int32_t* order,
                  std::span<std::int64_t> counts) {
  const std::int64_t pairs = args.rows * args.top_k;
  const auto valid = [&](std::int64_t pair) {
    return args.ids[pair] >= 0 && args.ids[pair] < args.outputs[0].weight->experts;
  };
  std::fill(counts.begin(), counts.end(), 0);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    if (valid(pair)) {
      ++counts[static_cast<std::size_t>(args.ids[pair])];
    } else {
      for (const ExpertOutput& output : args.outputs) {
        std::fill_n(output.y + pair * output.weight->n, output.weight->n, 0.0f);
      }
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

// One output's jobs, of the experts that were chosen; counts[e] is where expert e's pairs end.
// Returns how many they are.
std::size_t MakeExpertJobs(const RowBlocks& blocks, const ExpertOutput& output,
                           std::span<const std::int64_t> counts, Job* jobs) {
  const PackedWeight& weight = *output.weight;
  const PanelLayout layout = LayoutPanel(weight.format, weight.k);
  const Bytes expert_bytes = PanelBytes(weight.format, weight.n, weight.k);
  std::size_t used = 0;
  std::int64_t first_row = 0, prepared = 0;
  for (std::int64_t e = 0; e < weight.experts; ++e) {
    const std::int64_t rows = counts[static_cast<std::size_t>(e)] - first_row;
    if (rows == 0) continue;
    jobs[used++] = {.weight = &weight,
                    .layout = layout,
                    .data = weight.data + e * expert_bytes,
                    .y = output.y,
                    .first_row = first_row,
                    .rows = rows,
                    .first_prepared = prepared};
    first_row += rows;
    prepared += PaddedRows(blocks, rows);
  }
  return used;
}

}  // namespace

Block BlockOf(const Call& call, const Job& job, std::int64_t index, std::int64_t first) {
  const RowBlocks& blocks = call.blocks;
  const std::int64_t before = index * blocks.max_width;
  const std::int64_t rows = std::min<std::int64_t>(blocks.max_width, job.rows - before);
  const int width = BlockWidth(blocks, rows);
  const std::int64_t slice = first / blocks.slice * blocks.slice;
  const std::int64_t length = std::min(blocks.slice, call.k - slice);
  const Bytes offset = job.first_prepared * blocks.row_bytes(call.k) +
                       PaddedRows(blocks, job.rows) * blocks.row_bytes(slice) +
                       before * blocks.row_bytes(length) + width * blocks.row_bytes(first - slice);
  return {job.first_row + before, static_cast<int>(rows), width, call.prepared + offset};
}

Bytes RowJobsBytes(const RowBlocks& blocks, std::int64_t rows, std::int64_t k,
                   std::int64_t experts) {
  return LayoutWorkspace(blocks, rows, k, experts).Total();
}

Call PrepareDense(const RowBlocks& blocks, const MatmulArgs& args,
                  std::span<Job, kMaxMatmulOutputs> storage, std::span<std::uint8_t> workspace,
                  ThreadPool& pool) {
  CHECK_LE(args.outputs.size(), static_cast<std::size_t>(kMaxMatmulOutputs));
  CHECK_GE(static_cast<Bytes>(workspace.size()), RowJobsBytes(blocks, args.rows, args.k, 1));
  for (std::size_t i = 0; i < args.outputs.size(); ++i) {
    const MatmulOutput& output = args.outputs[i];
    storage[i] = {.weight = output.weight,
                  .layout = LayoutPanel(output.weight->format, args.k),
                  .data = output.weight->data,
                  .bias = output.bias,
                  .y = output.y,
                  .rows = args.rows};
  }
  const Call call = {.blocks = blocks,
                     .x = args.x,
                     .k = args.k,
                     .prepared = workspace.data(),
                     .jobs = std::span(storage).first(args.outputs.size())};
  Prepare(call, call.jobs.first(1), pool);
  return call;
}

Call PrepareExperts(const RowBlocks& blocks, const ExpertMatmulArgs& args,
                    std::span<std::uint8_t> workspace, ThreadPool& pool) {
  CHECK_LE(args.outputs.size(), static_cast<std::size_t>(kMaxExpertOutputs));
  const std::int64_t k = args.outputs[0].weight->k, experts = args.outputs[0].weight->experts;
  const WorkspaceLayout parts = LayoutWorkspace(blocks, args.rows * args.top_k, k, experts);
  CHECK_GE(static_cast<Bytes>(workspace.size()), parts.Total());
  std::uint8_t* at = workspace.data() + parts.prepared;
  auto* const order = reinterpret_cast<std::int32_t*>(at);
  at += parts.order;
  const std::span counts(reinterpret_cast<std::int64_t*>(at), static_cast<std::size_t>(experts));
  at += parts.counts;
  auto* const all_jobs = reinterpret_cast<Job*>(at);

  SortByExpert(args, order, counts);
  std::size_t used = 0;
  for (const ExpertOutput& output : args.outputs) {
    used += MakeExpertJobs(blocks, output, counts, all_jobs + used);
  }
  const Call call = {.blocks = blocks,
                     .x = args.x,
                     .k = k,
                     .rows_per_x = args.input_per_expert ? 1 : args.top_k,
                     .order = order,
                     .prepared = workspace.data(),
                     .jobs = {all_jobs, used}};
  Prepare(call, call.jobs.first(used / args.outputs.size()), pool);
  return call;
}

}  // namespace tonnage
