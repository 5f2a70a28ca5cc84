#include "graph/rewrite.h"

#include <map>
#include <utility>

namespace tonnage {

Graph MergeLinears(Graph graph) {
  std::vector<Node> nodes;
  // The first linear node of each (input, layer), by its place in `nodes`. Moving a later one there
  // is safe: its only input exists by then.
  std::map<std::pair<int, int>, size_t> first;
  for (Node& node : graph.nodes) {
    if (node.op == Op::kLinear) {
      const auto [it, is_first] = first.try_emplace({node.inputs[0].id, node.layer}, nodes.size());
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
