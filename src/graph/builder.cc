#include "graph/builder.h"

#include "base/check.h"
#include "graph/validate.h"

namespace tonnage {

GraphBuilder::GraphBuilder() {
  const ValueInfo input{.extent = Extent::kStepRows, .width = 1, .dtype = DType::kI32};
  graph_.tokens = NewValue(input);
  graph_.positions = NewValue(input);
}

Scope GraphBuilder::BeginLayer(int layer, std::string prefix) {
  CHECK_GE(layer, 0);
  layer_ = layer;
  return Scope(std::move(prefix));
}

Scope GraphBuilder::LeaveLayers(std::string prefix) {
  layer_ = -1;
  return Scope(std::move(prefix));
}

const ValueInfo& GraphBuilder::InfoOf(Value value) const {
  CHECK(value.id >= 0 && value.id < static_cast<int>(graph_.values.size())) << value.id;
  return graph_.values[static_cast<size_t>(value.id)];
}

Value GraphBuilder::NewValue(const ValueInfo& info) {
  graph_.values.push_back(info);
  return {static_cast<int>(graph_.values.size()) - 1};
}

WeightId GraphBuilder::Weight(std::string name, const Shape& shape) {
  const WeightId next{static_cast<int>(graph_.weights.size())};
  const auto [it, is_new] = weight_ids_.try_emplace(name, next);
  if (is_new) {
    graph_.weights.push_back({std::move(name), shape, layer_});
    return next;
  }
  WeightSpec& spec = graph_.weights[static_cast<size_t>(it->second.id)];
  CHECK(spec.shape == shape) << name << " is used as " << spec.shape.ToString() << " and as "
                             << shape.ToString();
  if (spec.layer != layer_) spec.layer = -1;
  return it->second;
}

std::vector<Value> GraphBuilder::Append(Node node, const std::vector<ValueInfo>& infos) {
  node.layer = layer_;
  for (const ValueInfo& info : infos) node.outputs.push_back(NewValue(info));
  const Status valid = ValidateNode(graph_, node);
  CHECK(valid.ok()) << valid.error().message();
  std::vector<Value> outputs = node.outputs;
  graph_.nodes.push_back(std::move(node));
  return outputs;
}

Value GraphBuilder::Embed(const Module& table, std::int64_t vocab, std::int64_t width,
                          float scale) {
  return AppendOne({.op = Op::kEmbed,
                    .inputs = {graph_.tokens},
                    .weights = {Weight(table.name + ".weight", {vocab, width})},
                    .attrs = EmbedAttrs{scale}},
                   {.extent = Extent::kStepRows, .width = width});
}

Value GraphBuilder::Linear(Value x, const Module& module, std::int64_t n, bool bias) {
  const ValueInfo in = InfoOf(x);
  const WeightId weight = Weight(module.name + ".weight", {n, in.width});
  const WeightId bias_weight = bias ? Weight(module.name + ".bias", {n}) : WeightId{};
  return AppendOne({.op = Op::kLinear, .inputs = {x}, .weights = {weight, bias_weight}},
                   {.extent = in.extent, .width = n});
}

Value GraphBuilder::RmsNorm(Value x, const Module& module, float eps, float weight_offset) {
  return HeadNorm(x, module, InfoOf(x).width, eps, weight_offset);
}

Value GraphBuilder::HeadNorm(Value x, const Module& module, std::int64_t head_dim, float eps,
                             float weight_offset) {
  return AppendOne({.op = Op::kRmsNorm,
                    .inputs = {x},
                    .weights = {Weight(module.name + ".weight", {head_dim})},
                    .attrs = RmsNormAttrs{eps, head_dim, weight_offset}},
                   InfoOf(x));
}

Value GraphBuilder::Rope(Value x, const RopeAttrs& attrs) {
  return AppendOne({.op = Op::kRope, .inputs = {x, graph_.positions}, .attrs = attrs}, InfoOf(x));
}

Value GraphBuilder::Attention(Value q, Value k, Value v, const AttentionAttrs& attrs,
                              std::string sinks) {
  std::vector<WeightId> weights;
  if (!sinks.empty()) weights.push_back(Weight(std::move(sinks), {attrs.heads}));
  return AppendOne(
      {.op = Op::kAttention, .inputs = {q, k, v}, .weights = std::move(weights), .attrs = attrs},
      {.extent = InfoOf(q).extent, .width = std::int64_t{attrs.heads} * attrs.v_dim});
}

Value GraphBuilder::Add(Value a, Value b) {
  return AppendOne({.op = Op::kAdd, .inputs = {a, b}}, InfoOf(a));
}

Value GraphBuilder::Glu(Value gate, Value up, Activation activation) {
  return AppendOne({.op = Op::kGlu, .inputs = {gate, up}, .attrs = GluAttrs{activation}},
                   InfoOf(gate));
}

Value GraphBuilder::SelectRows(Value x) {
  return AppendOne({.op = Op::kSelectRows, .inputs = {x}},
                   {.extent = Extent::kLogitRows, .width = InfoOf(x).width});
}

Routing GraphBuilder::Route(Value router_logits, const RouteAttrs& attrs) {
  const Extent extent = InfoOf(router_logits).extent;
  const std::vector<Value> outputs =
      Append({.op = Op::kRoute, .inputs = {router_logits}, .attrs = attrs},
             {{.extent = extent, .width = attrs.top_k, .dtype = DType::kI32},
              {.extent = extent, .width = attrs.top_k}});
  return {outputs[0], outputs[1], attrs};
}

Value GraphBuilder::ExpertLinear(Value x, const Routing& routing, const Module& module,
                                 std::int64_t n, bool input_per_expert) {
  const ValueInfo in = InfoOf(x);
  const auto [experts, top_k, normalize] = routing.attrs;
  const std::int64_t k = input_per_expert ? in.width / top_k : in.width;
  return AppendOne({.op = Op::kExpertLinear,
                    .inputs = {x, routing.ids},
                    .weights = {Weight(module.name + ".weight", {experts, n, k})},
                    .attrs = ExpertLinearAttrs{experts, top_k, input_per_expert}},
                   {.extent = in.extent, .width = top_k * n});
}

Value GraphBuilder::ExpertSum(Value y, const Routing& routing) {
  const ValueInfo in = InfoOf(y);
  const int top_k = routing.attrs.top_k;
  return AppendOne(
      {.op = Op::kExpertSum, .inputs = {y, routing.weights}, .attrs = ExpertSumAttrs{top_k}},
      {.extent = in.extent, .width = in.width / top_k});
}

Graph GraphBuilder::Finish(Value logits) && {
  CHECK(InfoOf(logits).extent == Extent::kLogitRows);
  graph_.logits = logits;
  return std::move(graph_);
}

}  // namespace tonnage
