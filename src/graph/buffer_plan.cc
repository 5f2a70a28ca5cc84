#include "graph/buffer_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tonnage {
namespace {

struct Place {
  Lifetime lifetime;
  Bytes begin = 0;
  Bytes end = 0;
};

// The offset of the smallest gap of at least `bytes` between the places that are live during
// `lifetime`; `places` stand in rising order of their begin.
Bytes BestGap(const std::vector<Place>& places, const Lifetime& lifetime, Bytes bytes) {
  Bytes best = -1;
  Bytes best_size = std::numeric_limits<Bytes>::max();
  Bytes end = 0;  // of everything live seen so far
  for (const Place& place : places) {
    if (!place.lifetime.Overlaps(lifetime)) continue;
    const Bytes gap = place.begin - end;
    if (gap >= bytes && gap < best_size) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, place.end);
  }
  return best >= 0 ? best : end;
}

}  // namespace

std::vector<Lifetime> Lifetimes(const Graph& graph) {
  std::vector<Lifetime> lifetimes(graph.values.size());
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    for (Value input : node.inputs) lifetimes[static_cast<size_t>(input.id)].last_node = n;
    for (Value output : node.outputs) lifetimes[static_cast<size_t>(output.id)] = {n, n};
  }
  for (Value input : {graph.tokens, graph.positions}) {
    lifetimes[static_cast<size_t>(input.id)].first_node = -1;
  }
  lifetimes[static_cast<size_t>(graph.logits.id)].last_node = static_cast<int>(graph.nodes.size());
  return lifetimes;
}

Bytes ValueBytes(const ValueInfo& value, const StepLimits& limits) {
  return limits.RowsOf(value.extent) * value.width * DTypeBytes(value.dtype);
}

// Largest first, each into the smallest gap that holds it: what is placed late is small and fits
// between what is there.
BufferPlan PlanBuffers(const Graph& graph, const StepLimits& limits) {
  const std::vector<Lifetime> lifetimes = Lifetimes(graph);
  std::vector<Bytes> sizes;
  for (const ValueInfo& value : graph.values) {
    sizes.push_back(RoundUp(ValueBytes(value, limits), kArenaAlignment));
  }
  std::vector<size_t> order(graph.values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });

  BufferPlan plan;
  plan.offsets.resize(graph.values.size());
  std::vector<Place> places;
  for (size_t id : order) {
    const Bytes begin = BestGap(places, lifetimes[id], sizes[id]);
    const Place place{lifetimes[id], begin, begin + sizes[id]};
    plan.offsets[id] = begin;
    plan.arena_bytes = std::max(plan.arena_bytes, place.end);
    places.insert(
        std::upper_bound(places.begin(), places.end(), place,
                         [](const Place& a, const Place& b) { return a.begin < b.begin; }),
        place);
  }
  return plan;
}

}  // namespace tonnage
