// Builds a Graph node by node and infers the shape of every value, so that a model file reads like
// its formula. Misuse is a bug and CHECKs: a model validates its config before it builds. One
// builder makes one graph; not thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace tonnage {

// The name of a module in the checkpoint, such as "model.layers.3.mlp.up_proj", whose tensors are
// `<module>.weight` and `<module>.bias`.
struct Module {
  std::string name;
};

// Modules under one prefix.
class Scope {
 public:
  explicit Scope(std::string prefix) : prefix_(std::move(prefix)) {}
  Module operator[](std::string_view name) const { return {prefix_ + std::string(name)}; }
  Scope Inner(std::string_view prefix) const { return Scope(prefix_ + std::string(prefix)); }

 private:
  std::string prefix_;
};

struct Routing {
  Value ids;      // i32 [rows, top_k]
  Value weights;  // [rows, top_k]
  RouteAttrs attrs;
};

class GraphBuilder {
 public:
  GraphBuilder();

  // Nodes and weights from here on belong to `layer`; its modules stand under `prefix`.
  Scope BeginLayer(int layer, std::string prefix);
  // Nodes and weights from here on belong to no layer.
  Scope LeaveLayers(std::string prefix);

  Value Embed(const Module& table, std::int64_t vocab, std::int64_t width, float scale = 1.0f);
  // x w^T (+ bias): [rows, n].
  Value Linear(Value x, const Module& module, std::int64_t n, bool bias = false);
  // Over the whole width.
  Value RmsNorm(Value x, const Module& module, float eps, float weight_offset = 0.0f);
  // Over each head of head_dim elements, with one weight [head_dim] for all.
  Value HeadNorm(Value x, const Module& module, std::int64_t head_dim, float eps,
                 float weight_offset = 0.0f);
  Value Rope(Value x, const RopeAttrs& attrs);
  // `sinks` is the whole name of a tensor, or empty.
  Value Attention(Value q, Value k, Value v, const AttentionAttrs& attrs, std::string sinks = {});
  Value Add(Value a, Value b);
  Value Glu(Value gate, Value up, Activation activation);
  Value SwiGlu(Value gate, Value up) { return Glu(gate, up, Activation::kSilu); }
  // The rows whose logits are wanted.
  Value SelectRows(Value x);
  Routing Route(Value router_logits, const RouteAttrs& attrs);
  // Each row by the matrices of its experts: x [rows, k] or, one input an expert,
  // [rows, top_k * k] -> [rows, top_k * n].
  Value ExpertLinear(Value x, const Routing& routing, const Module& module, std::int64_t n,
                     bool input_per_expert);
  // The experts' outputs [rows, top_k * n] by their routing weights -> [rows, n].
  Value ExpertSum(Value y, const Routing& routing);

  Graph Finish(Value logits) &&;

 private:
  const ValueInfo& InfoOf(Value value) const;
  Value NewValue(const ValueInfo& info);
  WeightId Weight(std::string name, const Shape& shape);
  // Appends the node with outputs of `infos` and checks it.
  std::vector<Value> Append(Node node, const std::vector<ValueInfo>& infos);
  Value AppendOne(Node node, const ValueInfo& info) { return Append(std::move(node), {info})[0]; }

  Graph graph_;
  std::map<std::string, WeightId, std::less<>> weight_ids_;
  int layer_ = -1;
};

}  // namespace tonnage
