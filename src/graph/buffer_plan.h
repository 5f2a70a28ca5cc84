// Where every value of a graph lies in one arena. Values that are live at the same time never
// overlap; others share bytes. Planned for the largest step, so that a smaller one uses a prefix of
// each value's place and nothing is sized while serving. A pure function of graph and limits.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "graph/graph.h"

namespace tonnage {

inline constexpr Bytes kArenaAlignment = 64;

// The nodes during which a value must keep its place. The graph's inputs are live from before the
// first node, its logits until after the last.
struct Lifetime {
  int first_node = 0;
  int last_node = 0;
  bool Overlaps(const Lifetime& other) const {
    return first_node <= other.last_node && other.first_node <= last_node;
  }
};

// By value id.
std::vector<Lifetime> Lifetimes(const Graph& graph);

// The bytes that `value` takes in a step of `limits` rows.
Bytes ValueBytes(const ValueInfo& value, const StepLimits& limits);

struct BufferPlan {
  std::vector<Bytes> offsets;  // by value id; multiples of kArenaAlignment
  Bytes arena_bytes = 0;       // the end of the last value in it
};

BufferPlan PlanBuffers(const Graph& graph, const StepLimits& limits);

}  // namespace tonnage
