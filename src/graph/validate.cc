#include "graph/validate.h"

#include <algorithm>

namespace tonnage {
namespace {

// Collects the first violation of one node.
class NodeCheck {
 public:
  NodeCheck(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  Status Run() {
    if (OperandsExist()) {
      switch (node_.op) {
        case Op::kEmbed:
          Embed();
          break;
        case Op::kLinear:
          Linear();
          break;
        case Op::kRmsNorm:
          RmsNorm();
          break;
        case Op::kRope:
          Rope();
          break;
        case Op::kAttention:
          Attention();
          break;
        case Op::kAdd:
          Add();
          break;
        case Op::kGlu:
          Glu();
          break;
        case Op::kSelectRows:
          SelectRows();
          break;
        case Op::kRoute:
          Route();
          break;
        case Op::kExpertLinear:
          ExpertLinear();
          break;
        case Op::kExpertSum:
          ExpertSum();
          break;
      }
    }
    if (violation_.empty()) return {};
    return Internal("{} node of layer {}: {}", OpName(node_.op), node_.layer, violation_);
  }

 private:
  void Require(bool holds, std::string_view what) {
    if (!holds && violation_.empty()) violation_ = what;
  }
  const ValueInfo& In(size_t i) const {
    return graph_.values[static_cast<size_t>(node_.inputs[i].id)];
  }
  const ValueInfo& Out(size_t i) const {
    return graph_.values[static_cast<size_t>(node_.outputs[i].id)];
  }
  const Shape& WeightShape(size_t i) const {
    return graph_.weights[static_cast<size_t>(node_.weights[i].id)].shape;
  }

  bool OperandsExist() {
    const auto value_exists = [&](Value v) {
      return v.id >= 0 && v.id < static_cast<int>(graph_.values.size());
    };
    Require(std::ranges::all_of(node_.inputs, value_exists), "an input does not exist");
    Require(std::ranges::all_of(node_.outputs, value_exists), "an output does not exist");
    Require(std::ranges::all_of(
                node_.weights,
                [&](WeightId w) { return w.id < static_cast<int>(graph_.weights.size()); }),
            "a weight does not exist");
    return violation_.empty();
  }

  // The number of operands; all weights but a bias must be there.
  bool Counts(size_t inputs, size_t weights, size_t outputs) {
    Require(node_.inputs.size() == inputs, "wrong number of inputs");
    Require(node_.weights.size() == weights, "wrong number of weights");
    Require(node_.outputs.size() == outputs, "wrong number of outputs");
    if (node_.op != Op::kLinear) {
      Require(std::ranges::all_of(node_.weights, &WeightId::valid), "a weight is missing");
    }
    return violation_.empty();
  }

  // The attributes, if they are this op's.
  template <typename T>
  const T* AttrsOf() {
    const T* attrs = std::get_if<T>(&node_.attrs);
    Require(attrs != nullptr, "attributes of another op");
    return attrs;
  }

  void IsLike(const ValueInfo& a, const ValueInfo& b, std::string_view what) {
    Require(a.extent == b.extent && a.width == b.width && a.dtype == b.dtype, what);
  }
  void IsF32(const ValueInfo& value, Extent extent, std::int64_t width, std::string_view what) {
    IsLike(value, {extent, width, DType::kF32}, what);
  }

  void Embed() {
    if (!Counts(1, 1, 1) || AttrsOf<EmbedAttrs>() == nullptr) return;
    IsLike(In(0), {Extent::kStepRows, 1, DType::kI32}, "tokens must be i32 [step rows, 1]");
    Require(WeightShape(0).rank() == 2, "the table must be [vocab, width]");
    IsF32(Out(0), In(0).extent, WeightShape(0)[1], "the output must be [rows, width]");
  }

  void Linear() {
    if (!Counts(1, 2 * node_.outputs.size(), node_.outputs.size())) return;
    Require(!node_.outputs.empty(), "no output");
    for (size_t i = 0; i < node_.outputs.size() && violation_.empty(); ++i) {
      Require(node_.weights[2 * i].valid(), "a weight is missing");
      if (!violation_.empty()) return;
      const Shape& weight = WeightShape(2 * i);
      Require(weight.rank() == 2 && weight[1] == In(0).width, "the weight must be [n, k]");
      IsF32(Out(i), In(0).extent, weight[0], "the output must be [rows, n]");
      if (node_.weights[2 * i + 1].valid()) {
        Require(WeightShape(2 * i + 1) == Shape({weight[0]}), "the bias must be [n]");
      }
    }
  }

  void RmsNorm() {
    const auto* attrs = AttrsOf<RmsNormAttrs>();
    if (attrs == nullptr || !Counts(1, 1, 1)) return;
    Require(attrs->group > 0 && In(0).width % attrs->group == 0, "the group must divide the width");
    Require(WeightShape(0) == Shape({attrs->group}), "the weight must be [group]");
    IsF32(Out(0), In(0).extent, In(0).width, "the output must be like the input");
  }

  void Rope() {
    const auto* attrs = AttrsOf<RopeAttrs>();
    if (attrs == nullptr || !Counts(2, 0, 1)) return;
    Require(std::int64_t{attrs->heads} * attrs->head_dim == In(0).width,
            "the input must be [rows, heads * head_dim]");
    Require(!attrs->inverse_frequency.empty() &&
                attrs->inverse_frequency.size() * 2 <= static_cast<size_t>(attrs->head_dim),
            "the rotated part must lie within a head");
    IsLike(In(1), {In(0).extent, 1, DType::kI32}, "positions must be i32 [rows, 1]");
    IsF32(Out(0), In(0).extent, In(0).width, "the output must be like the input");
  }

  void Attention() {
    const auto* attrs = AttrsOf<AttentionAttrs>();
    const bool has_sinks = !node_.weights.empty();
    if (attrs == nullptr || !Counts(3, has_sinks ? 1 : 0, 1)) return;
    Require(!has_sinks || WeightShape(0) == Shape{attrs->heads}, "the sinks must be [heads]");
    Require(attrs->kv_heads > 0 && attrs->heads % attrs->kv_heads == 0,
            "kv_heads must divide heads");
    const Extent extent = In(0).extent;
    Require(extent == Extent::kStepRows, "every row of the step must attend");
    IsF32(In(0), extent, std::int64_t{attrs->heads} * attrs->head_dim,
          "q must be [rows, heads * head_dim]");
    IsF32(In(1), extent, std::int64_t{attrs->kv_heads} * attrs->head_dim,
          "k must be [rows, kv_heads * head_dim]");
    IsF32(In(2), extent, std::int64_t{attrs->kv_heads} * attrs->v_dim,
          "v must be [rows, kv_heads * v_dim]");
    IsF32(Out(0), extent, std::int64_t{attrs->heads} * attrs->v_dim,
          "the output must be [rows, heads * v_dim]");
  }

  void Add() {
    if (!Counts(2, 0, 1)) return;
    IsLike(In(0), In(1), "both sides must be alike");
    IsF32(Out(0), In(0).extent, In(0).width, "the output must be like the input");
  }

  void Glu() {
    if (AttrsOf<GluAttrs>() != nullptr) Add();
  }

  void SelectRows() {
    if (!Counts(1, 0, 1)) return;
    Require(In(0).extent == Extent::kStepRows, "the input must have the step's rows");
    IsF32(Out(0), Extent::kLogitRows, In(0).width, "the output must be [logit rows, width]");
  }

  void Route() {
    const auto* attrs = AttrsOf<RouteAttrs>();
    if (attrs == nullptr || !Counts(1, 0, 2)) return;
    Require(attrs->top_k > 0 && attrs->top_k <= attrs->experts, "top_k must be within experts");
    IsF32(In(0), In(0).extent, attrs->experts, "the input must be [rows, experts]");
    IsLike(Out(0), {In(0).extent, attrs->top_k, DType::kI32}, "ids must be i32 [rows, top_k]");
    IsF32(Out(1), In(0).extent, attrs->top_k, "weights must be [rows, top_k]");
  }

  void ExpertLinear() {
    const auto* attrs = AttrsOf<ExpertLinearAttrs>();
    const size_t outputs = std::max<size_t>(1, node_.outputs.size());
    if (attrs == nullptr || !Counts(2, outputs, outputs)) return;
    IsLike(In(1), {In(0).extent, attrs->top_k, DType::kI32}, "ids must be i32 [rows, top_k]");
    const std::int64_t inputs = attrs->input_per_expert ? attrs->top_k : 1;
    for (size_t i = 0; i < outputs; ++i) {
      const Shape& weight = WeightShape(i);
      Require(weight.rank() == 3 && weight[0] == attrs->experts,
              "the weight must be [experts, n, k]");
      if (!violation_.empty()) return;
      IsF32(In(0), In(0).extent, inputs * weight[2], "the input does not fit the weight");
      IsF32(Out(i), In(0).extent, attrs->top_k * weight[1], "the output must be [rows, top_k * n]");
    }
  }

  void ExpertSum() {
    const auto* attrs = AttrsOf<ExpertSumAttrs>();
    if (attrs == nullptr || !Counts(2, 0, 1)) return;
    IsF32(In(0), In(0).extent, attrs->top_k * Out(0).width, "the input must be [rows, top_k * n]");
    IsF32(In(1), In(0).extent, attrs->top_k, "weights must be [rows, top_k]");
    IsF32(Out(0), In(0).extent, Out(0).width, "the output must be [rows, n]");
  }

  const Graph& graph_;
  const Node& node_;
  std::string_view violation_;
};

Status ValidateCacheUse(const Node& node, const CacheLayout& cache) {
  const auto* attrs = std::get_if<AttentionAttrs>(&node.attrs);
  if (attrs == nullptr) return {};
  if (attrs->cache < 0 || attrs->cache >= static_cast<int>(cache.layers.size())) {
    return Internal("attention node of layer {} uses cache {} of {}", node.layer, attrs->cache,
                    cache.layers.size());
  }
  const LayerCache& layer = cache.layers[static_cast<size_t>(attrs->cache)];
  if (layer.kv_heads != attrs->kv_heads || layer.k_dim != attrs->head_dim ||
      layer.v_dim != attrs->v_dim || layer.window != attrs->window) {
    return Internal("attention node of layer {} and its cache differ", node.layer);
  }
  return {};
}

}  // namespace

Status ValidateNode(const Graph& graph, const Node& node) { return NodeCheck(graph, node).Run(); }

Status Validate(const Graph& graph, const CacheLayout& cache) {
  std::vector<bool> has_origin(graph.values.size());
  const auto set_origin = [&](Value value) -> Status {
    if (value.id < 0 || value.id >= static_cast<int>(graph.values.size())) {
      return Internal("value {} does not exist", value.id);
    }
    if (has_origin[static_cast<size_t>(value.id)]) {
      return Internal("value {} has two origins", value.id);
    }
    has_origin[static_cast<size_t>(value.id)] = true;
    return {};
  };
  RETURN_IF_ERROR(set_origin(graph.tokens));
  RETURN_IF_ERROR(set_origin(graph.positions));
  for (const Node& node : graph.nodes) {
    RETURN_IF_ERROR(ValidateNode(graph, node));
    RETURN_IF_ERROR(ValidateCacheUse(node, cache));
    for (Value input : node.inputs) {
      if (!has_origin[static_cast<size_t>(input.id)]) {
        return Internal("{} node of layer {} uses value {} before its origin", OpName(node.op),
                        node.layer, input.id);
      }
    }
    for (Value output : node.outputs) RETURN_IF_ERROR(set_origin(output));
  }
  const auto missing = std::ranges::find(has_origin, false);
  if (missing != has_origin.end()) {
    return Internal("value {} has no origin", missing - has_origin.begin());
  }
  const int logits = graph.logits.id;
  if (logits < 0 || logits >= static_cast<int>(graph.values.size()) ||
      graph.values[static_cast<size_t>(logits)].extent != Extent::kLogitRows) {
    return Internal("the logits are no value of the logit rows");
  }
  return {};
}

}  // namespace tonnage
