#include "graph/rewrite.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tonnage {
namespace {

// Whether a row of the outputs depends on the same row of the inputs alone, and on nothing else of
// the step.
bool IsRowwise(Op op) {
  switch (op) {
    case Op::kLinear:
    case Op::kRmsNorm:
    case Op::kAdd:
    case Op::kGlu:
    case Op::kRoute:
    case Op::kExpertLinear:
    case Op::kExpertSum:
      return true;
    case Op::kEmbed:
    case Op::kRope:
    case Op::kAttention:
    case Op::kSelectRows:
      return false;
  }
  return false;
}

// Drops values that no node makes, and numbers the others anew.
void DropUnmadeValues(Graph& graph) {
  std::vector<bool> is_made(graph.values.size());
  const auto mark = [&](Value value) { is_made[static_cast<size_t>(value.id)] = true; };
  mark(graph.tokens);
  mark(graph.positions);
  for (const Node& node : graph.nodes) std::ranges::for_each(node.outputs, mark);

  std::vector<ValueInfo> values;
  std::vector<int> new_id(graph.values.size(), -1);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (!is_made[id]) continue;
    new_id[id] = static_cast<int>(values.size());
    values.push_back(graph.values[id]);
  }
  const auto renumber = [&](Value& value) { value.id = new_id[static_cast<size_t>(value.id)]; };
  for (Node& node : graph.nodes) {
    std::ranges::for_each(node.inputs, renumber);
    std::ranges::for_each(node.outputs, renumber);
  }
  for (Value* value : {&graph.tokens, &graph.positions, &graph.logits}) renumber(*value);
  graph.values = std::move(values);
}

// The nodes of which only logit rows are needed: those whose outputs nobody reads in full.
std::vector<bool> NarrowNodes(const Graph& graph) {
  std::vector<bool> is_read_in_full(graph.values.size());
  std::vector<bool> is_narrow(graph.nodes.size());
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    is_narrow[n] = IsRowwise(node.op) && std::ranges::none_of(node.outputs, [&](Value output) {
                     return is_read_in_full[static_cast<size_t>(output.id)];
                   });
    if (is_narrow[n] || node.op == Op::kSelectRows) continue;
    for (Value input : node.inputs) is_read_in_full[static_cast<size_t>(input.id)] = true;
  }
  return is_narrow;
}

}  // namespace

Graph Optimize(Graph graph) { return MergeLinears(SelectRowsEarly(std::move(graph))); }

Graph SelectRowsEarly(Graph graph) {
  const std::vector<bool> is_narrow = NarrowNodes(graph);
  std::vector<Node> nodes;
  std::map<int, Value> selected;  // by value id: its logit rows
  const auto select = [&](Value value, int layer) {
    if (graph.values[static_cast<size_t>(value.id)].extent == Extent::kLogitRows) return value;
    const auto [it, is_new] = selected.try_emplace(value.id);
    if (is_new) {
      it->second = {static_cast<int>(graph.values.size())};
      graph.values.push_back(graph.values[static_cast<size_t>(value.id)]);
      graph.values.back().extent = Extent::kLogitRows;
      nodes.push_back(
          {.op = Op::kSelectRows, .layer = layer, .inputs = {value}, .outputs = {it->second}});
    }
    return it->second;
  };
  std::map<int, Value> replaced;  // outputs of the graph's own SelectRows nodes
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    for (Value& input : node.inputs) {
      if (const auto it = replaced.find(input.id); it != replaced.end()) input = it->second;
    }
    if (node.op == Op::kSelectRows) {
      replaced[node.outputs[0].id] = select(node.inputs[0], node.layer);
      continue;
    }
    if (is_narrow[n]) {
      for (Value& input : node.inputs) input = select(input, node.layer);
      for (Value output : node.outputs) {
        graph.values[static_cast<size_t>(output.id)].extent = Extent::kLogitRows;
      }
    }
    nodes.push_back(std::move(node));
  }
  if (const auto it = replaced.find(graph.logits.id); it != replaced.end()) {
    graph.logits = it->second;
  }
  graph.nodes = std::move(nodes);
  DropUnmadeValues(graph);
  return graph;
}

Graph MergeLinears(Graph graph) {
  std::vector<Node> nodes;
  // The first linear node of each layer and inputs, by its place in `nodes`. Moving a later one
  // there is safe: its inputs exist by then.
  std::map<std::tuple<int, int, int>, size_t> first;
  for (Node& node : graph.nodes) {
    if (node.op == Op::kLinear || node.op == Op::kExpertLinear) {
      const auto [it, is_first] =
          first.try_emplace({node.layer, node.inputs[0].id, node.inputs.back().id}, nodes.size());
      if (!is_first) {
        Node& merged = nodes[it->second];
        merged.weights.insert(merged.weights.end(), node.weights.begin(), node.weights.end());
        merged.outputs.insert(merged.outputs.end(), node.outputs.begin(), node.outputs.end());
        continue;
      }
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace tonnage
