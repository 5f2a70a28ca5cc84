#include "backend/host/launch.h"

#include <algorithm>
#include <array>

namespace tonnage {
namespace {

// Work below this many elements is done before a second thread has heard of it.
constexpr double kForkCost = 32768.0;
// A block of rows: enough to be worth handing out, little enough to stay in a core's cache.
constexpr double kBlockCost = 16384.0;

// Whether rows of the two may be touched in any order.
bool Apart(const RowSpan& a, const RowSpan& b) {
  if (a.data == b.data && a.row_bytes == b.row_bytes) return true;
  return a.data + a.bytes <= b.data || b.data + b.bytes <= a.data;
}

bool AllApart(const std::vector<RowSpan>& a, const std::vector<RowSpan>& b) {
  return std::ranges::all_of(a, [&](const RowSpan& x) {
    return std::ranges::all_of(b, [&](const RowSpan& y) { return Apart(x, y); });
  });
}

// Calls run(kernel, first, rows) for the rows that decode and for those of prompts, or once for all
// where there is one kernel.
template <typename Kernel, typename PromptKernel, typename Function>
void RunByKind(const Kernel& kernel, const PromptKernel* prompt_kernel, const StepSize& size,
               Extent extent, Function&& run) {
  const std::int64_t rows = size.RowsOf(extent);
  const std::int64_t decoded = prompt_kernel != nullptr ? size.DecodeRowsOf(extent) : rows;
  if (decoded > 0) run(kernel, 0, decoded);
  if (decoded < rows) run(*prompt_kernel, decoded, rows - decoded);
}

}  // namespace

RowGroup::RowGroup(std::unique_ptr<RowLaunch> first) { Append(std::move(first)); }

bool RowGroup::CanAppend(const RowLaunch& next) const {
  return std::ranges::all_of(launches_, [&](const std::unique_ptr<RowLaunch>& earlier) {
    return earlier->extent == next.extent && AllApart(earlier->reads, next.writes) &&
           AllApart(earlier->writes, next.writes) && AllApart(earlier->writes, next.reads);
  });
}

void RowGroup::Append(std::unique_ptr<RowLaunch> next) {
  row_cost_ += next->row_cost;
  launches_.push_back(std::move(next));
}

void RowGroup::Run(const StepSize& size, ThreadPool& pool) {
  const std::int64_t rows = size.RowsOf(launches_[0]->extent);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (const auto& launch : launches_) launch->RunRows(begin, end);
  };
  if (static_cast<double>(rows) * row_cost_ < kForkCost) {
    run(0, rows);
    return;
  }
  const auto block = static_cast<std::int64_t>(std::max(1.0, kBlockCost / row_cost_));
  pool.Run(CeilDiv(rows, block),
           [&](std::int64_t i) { run(i * block, std::min(rows, (i + 1) * block)); });
}

LinearLaunch::LinearLaunch(Extent extent, const float* x, std::vector<MatmulOutput> outputs,
                           std::span<std::uint8_t> scratch)
    : extent_(extent), x_(x), outputs_(std::move(outputs)), scratch_(scratch) {}

template <typename Kernel>
void LinearLaunch::Multiply(const Kernel& kernel, std::int64_t first, std::int64_t rows,
                            ThreadPool& pool) {
  std::array<MatmulOutput, kMaxMatmulOutputs> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs[i] = outputs_[i];
    outputs[i].y += first * outputs_[i].weight->n;
  }
  const std::int64_t k = outputs_[0].weight->k;
  kernel.run({.x = x_ + first * k,
              .rows = rows,
              .k = k,
              .outputs = std::span(outputs).first(outputs_.size())},
             scratch_, pool);
}

void LinearLaunch::Run(const StepSize& size, ThreadPool& pool) {
  const PackedWeight& weight = *outputs_[0].weight;
  RunByKind(*weight.kernel, weight.prompt_kernel, size, extent_,
            [&](const auto& kernel, std::int64_t first, std::int64_t rows) {
              Multiply(kernel, first, rows, pool);
            });
}

template <typename Kernel>
void ExpertLinearLaunch::Multiply(const Kernel& kernel, std::int64_t first, std::int64_t rows,
                                  ThreadPool& pool) {
  ExpertMatmulArgs args = args_;
  const std::int64_t pairs = first * args.top_k;
  args.rows = rows;
  args.x += (args.input_per_expert ? pairs : first) * outputs_[0].weight->k;
  args.ids += pairs;
  std::array<ExpertOutput, kMaxExpertOutputs> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs[i] = {outputs_[i].weight, outputs_[i].y + pairs * outputs_[i].weight->n};
  }
  args.outputs = std::span(outputs).first(outputs_.size());
  kernel.run_experts(args, scratch_, pool);
}

void ExpertLinearLaunch::Run(const StepSize& size, ThreadPool& pool) {
  const PackedWeight& weight = *outputs_[0].weight;
  RunByKind(*weight.kernel, weight.prompt_kernel, size, extent_,
            [&](const auto& kernel, std::int64_t first, std::int64_t rows) {
              Multiply(kernel, first, rows, pool);
            });
}

template <typename Kernel>
void AttentionLaunch::Attend(const Kernel& kernel, std::int64_t first, std::int64_t rows,
                             ThreadPool& pool) {
  const AttentionShape& shape = args_.shape;
  AttentionArgs args = args_;
  args.rows = rows;
  args.q += first * shape.heads * shape.k_dim;
  args.k += first * shape.kv_heads * shape.k_dim;
  args.v += first * shape.kv_heads * shape.v_dim;
  args.out += first * shape.heads * shape.v_dim;
  args.positions += first;
  args.slots += first;
  kernel.run(args, scratch_, pool);
}

void AttentionLaunch::Run(const StepSize& size, ThreadPool& pool) {
  RunByKind(kernel_, prompt_kernel_, size, Extent::kStepRows,
            [&](const auto& kernel, std::int64_t first, std::int64_t rows) {
              Attend(kernel, first, rows, pool);
            });
}

}  // namespace tonnage
