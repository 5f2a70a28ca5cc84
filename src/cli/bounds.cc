#include "cli/bounds.h"

#include <algorithm>
#include <utility>

#include "kernels/attention/attention.h"
#include "kernels/matmul/matmul.h"

namespace tonnage::cli {

Bounds::Bounds(const Graph& graph, std::vector<Format> formats, const BoundSettings& settings,
               Peaks peaks)
    : graph_(graph), formats_(std::move(formats)), settings_(settings), peaks_(std::move(peaks)) {}

CostStep Bounds::Step(std::int64_t rows, std::int64_t logit_rows,
                      std::int64_t context_tokens) const {
  return {.rows = {rows, logit_rows},
          .context_tokens = context_tokens,
          .formats = formats_,
          .kv_dtype = settings_.kv_dtype};
}

Arithmetic Bounds::ArithmeticOf(const Node& node, bool prompt) const {
  if (node.op == Op::kAttention && prompt &&
      SelectPromptAttention(settings_.precision, settings_.features, settings_.kernel) != nullptr) {
    return Arithmetic::kBf16;
  }
  if (node.op != Op::kLinear && node.op != Op::kExpertLinear) return Arithmetic::kF32;
  const auto id = static_cast<size_t>(node.weights.front().id);
  const Shape& shape = graph_.weights[id].shape;
  const std::int64_t n = shape[shape.rank() - 2], k = shape[shape.rank() - 1];
  const MatmulKernel& kernel =
      SelectMatmul(formats_[id], n, k, settings_.precision, settings_.features, settings_.kernel);
  if (prompt && SelectPromptMatmul(kernel, formats_[id], n, k, settings_.precision,
                                   settings_.features, settings_.kernel) != nullptr) {
    return Arithmetic::kBf16;
  }
  return kernel.precision == Precision::kFast ? Arithmetic::kInt8 : Arithmetic::kF32;
}

double Bounds::ComputeSeconds(const CostStep& step, bool prompt) const {
  double seconds = 0;
  for (const Node& node : graph_.nodes) {
    seconds += NodeCost(graph_, node, step).operations /
               peaks_.OperationsPerSecond(ArithmeticOf(node, prompt));
  }
  return seconds;
}

double Bounds::ReadSeconds(const CostStep& step) const {
  const Cost cost = GraphCost(graph_, step);
  return static_cast<double>(cost.weight_bytes + cost.cache_bytes) / peaks_.read_bytes_per_s;
}

double Bounds::PrefillSeconds(std::int64_t tokens) const {
  // A token sees those before it: in so small parts the mean of what a part's tokens see will do.
  constexpr std::int64_t kPart = 64;
  double compute = 0;
  for (std::int64_t first = 0; first < tokens; first += kPart) {
    const std::int64_t rows = std::min(kPart, tokens - first);
    compute += ComputeSeconds(Step(rows, first + rows == tokens ? 1 : 0, first + (rows + 1) / 2),
                              /*prompt=*/true);
  }
  return std::max(compute, ReadSeconds(Step(tokens, 1, tokens)));
}

double Bounds::DecodeSeconds(std::int64_t sequences, std::int64_t context_tokens) const {
  CostStep step = Step(sequences, sequences, context_tokens);
  step.sequences = sequences;
  return std::max(ComputeSeconds(step, /*prompt=*/false), ReadSeconds(step));
}

}  // namespace tonnage::cli
