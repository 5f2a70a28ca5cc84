#include "graph/cost.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "graph/buffer_plan.h"
#include "graph/cache_layout.h"

namespace tonnage {
namespace {

// The cost of one node, part by part.
class NodeCosts {
 public:
  NodeCosts(const Graph& graph, const Node& node, const CostStep& step)
      : graph_(graph), node_(node), step_(step) {}

  Cost Run() const {
    Cost cost{.operations = Operations(), .weight_bytes = WeightBytes()};
    if (const auto* attention = std::get_if<AttentionAttrs>(&node_.attrs)) {
      cost.cache_bytes = CacheTraffic(*attention);
    }
    for (Value input : node_.inputs) cost.value_bytes += ValueBytes(Info(input), step_.rows);
    for (Value output : node_.outputs) cost.value_bytes += ValueBytes(Info(output), step_.rows);
    return cost;
  }

 private:
  const ValueInfo& Info(Value value) const { return graph_.values[static_cast<size_t>(value.id)]; }
  const Shape& ShapeOf(WeightId id) const {
    return graph_.weights[static_cast<size_t>(id.id)].shape;
  }
  double Rows() const {
    return static_cast<double>(step_.rows.RowsOf(Info(node_.outputs[0]).extent));
  }
  double OutputElements() const {
    return Rows() * static_cast<double>(Info(node_.outputs[0]).width);
  }

  double Operations() const {
    switch (node_.op) {
      case Op::kEmbed:
      case Op::kSelectRows:
        return 0;
      case Op::kLinear:
      case Op::kExpertLinear:
        return MatmulOperations();
      case Op::kRmsNorm:  // square and sum, scale, weigh
        return 4 * OutputElements();
      case Op::kRope:  // a pair takes four multiplications and two additions
        return 3 * OutputElements();
      case Op::kAttention: {
        const auto& a = std::get<AttentionAttrs>(node_.attrs);
        return 2.0 * Rows() * a.heads * (a.head_dim + a.v_dim) * static_cast<double>(Seen(a));
      }
      case Op::kAdd:
        return OutputElements();
      case Op::kGlu:  // an exponential counts as one
        return 4 * OutputElements();
      case Op::kRoute:  // softmax
        return 3 * Rows() * static_cast<double>(Info(node_.inputs[0]).width);
      case Op::kExpertSum:
        return 2 * Rows() * static_cast<double>(Info(node_.inputs[0]).width);
    }
    return 0;
  }

  double MatmulOperations() const {
    double operations = 0;
    const bool is_dense = node_.op == Op::kLinear;
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const Shape& weight = ShapeOf(node_.weights[is_dense ? 2 * i : i]);
      const auto k = static_cast<double>(weight[weight.rank() - 1]);
      operations += 2 * Rows() * static_cast<double>(Info(node_.outputs[i]).width) * k;
    }
    return operations;
  }

  Bytes WeightBytes() const {
    Bytes bytes = 0;
    for (WeightId id : node_.weights) {
      if (id.valid()) bytes += BytesRead(id);
    }
    return bytes;
  }

  Bytes BytesRead(WeightId id) const {
    const Shape& shape = ShapeOf(id);
    if (shape.rank() == 1) return shape[0] * DTypeBytes(DType::kF32);
    const Format& format = step_.formats[static_cast<size_t>(id.id)];
    const auto row = FormatRowBytes(format, shape[shape.rank() - 1]);
    CHECK(row.has_value()) << format.Name() << " of " << shape.ToString();
    if (node_.op == Op::kEmbed) return static_cast<Bytes>(Rows()) * row->Total();
    if (shape.rank() == 2) return shape[0] * row->Total();
    return std::llround(ExpertsUsed() * static_cast<double>(shape[1] * row->Total()));
  }

  // How many experts rows choose together, if each choice is as likely as any other.
  double ExpertsUsed() const {
    const auto& a = std::get<ExpertLinearAttrs>(node_.attrs);
    const double missed = std::pow(1.0 - static_cast<double>(a.top_k) / a.experts, Rows());
    return a.experts * (1 - missed);
  }

  std::int64_t Seen(const AttentionAttrs& a) const {
    return a.window > 0 ? std::min(a.window, step_.context_tokens) : step_.context_tokens;
  }

  Bytes CacheTraffic(const AttentionAttrs& a) const {
    const LayerCache layer{.kv_heads = a.kv_heads, .k_dim = a.head_dim, .v_dim = a.v_dim};
    const Bytes token = PageBytes(layer, step_.kv_dtype) / kKvPageTokens;
    return token * (step_.sequences * Seen(a) + static_cast<std::int64_t>(Rows()));
  }

  const Graph& graph_;
  const Node& node_;
  const CostStep& step_;
};

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  operations += other.operations;
  weight_bytes += other.weight_bytes;
  value_bytes += other.value_bytes;
  cache_bytes += other.cache_bytes;
  return *this;
}

Cost NodeCost(const Graph& graph, const Node& node, const CostStep& step) {
  return NodeCosts(graph, node, step).Run();
}

Cost GraphCost(const Graph& graph, const CostStep& step) {
  Cost total;
  for (const Node& node : graph.nodes) total += NodeCost(graph, node, step);
  return total;
}

}  // namespace tonnage
