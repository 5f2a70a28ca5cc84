#include "graph/buffer_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/rewrite.h"
#include "graph/test_graphs.h"

namespace tonnage {
namespace {

// Live values never overlap, everything is aligned, and the arena ends with its last value.
void ExpectSound(const Graph& graph, const StepLimits& limits) {
  const BufferPlan plan = PlanBuffers(graph, limits);
  const std::vector<Lifetime> lifetimes = Lifetimes(graph);
  ASSERT_EQ(plan.offsets.size(), graph.values.size());
  Bytes end = 0;
  for (size_t a = 0; a < graph.values.size(); ++a) {
    const Bytes a_end = plan.offsets[a] + ValueBytes(graph.values[a], limits);
    ASSERT_EQ(plan.offsets[a] % kArenaAlignment, 0);
    end = std::max(end, RoundUp(a_end, kArenaAlignment));
    for (size_t b = 0; b < a; ++b) {
      const Bytes b_end = plan.offsets[b] + ValueBytes(graph.values[b], limits);
      if (!lifetimes[a].Overlaps(lifetimes[b])) continue;
      ASSERT_TRUE(a_end <= plan.offsets[b] || b_end <= plan.offsets[a]) << a << " and " << b;
    }
  }
  ASSERT_EQ(plan.arena_bytes, end);
}

// The most bytes that are live at one node: no arena can be smaller.
Bytes LowerBound(const Graph& graph, const StepLimits& limits) {
  const std::vector<Lifetime> lifetimes = Lifetimes(graph);
  Bytes most = 0;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    Bytes live = 0;
    for (size_t v = 0; v < graph.values.size(); ++v) {
      if (lifetimes[v].Overlaps({n, n})) {
        live += RoundUp(ValueBytes(graph.values[v], limits), kArenaAlignment);
      }
    }
    most = std::max(most, live);
  }
  return most;
}

// A graph of the given shape only; what its nodes compute does not matter here.
Graph RandomGraph(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Graph graph;
  graph.values = {{.width = 1, .dtype = DType::kI32}, {.width = 1, .dtype = DType::kI32}};
  graph.tokens = {0};
  graph.positions = {1};
  const int nodes = 1 + below(40);
  for (int n = 0; n < nodes; ++n) {
    Node node{.op = Op::kLinear};
    for (int i = below(3); i >= 0; --i) {
      node.inputs.push_back({below(static_cast<int>(graph.values.size()))});
    }
    for (int i = below(3); i >= 0; --i) {
      node.outputs.push_back({static_cast<int>(graph.values.size())});
      graph.values.push_back({.extent = below(4) == 0 ? Extent::kLogitRows : Extent::kStepRows,
                              .width = 1 + below(3000)});
    }
    graph.nodes.push_back(node);
  }
  graph.logits = graph.nodes.back().outputs[0];
  return graph;
}

TEST(BufferPlan, LiveValuesNeverOverlap) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) ExpectSound(RandomGraph(random), {.rows = 7, .logit_rows = 2});
}

TEST(BufferPlan, ADecoderNeedsNoMoreThanItsWidestNode) {
  for (const Graph& graph : {TestDecoder(), MergeLinears(TestDecoder())}) {
    for (const StepLimits limits : {StepLimits{1, 1}, StepLimits{16, 1}, StepLimits{512, 8}}) {
      ExpectSound(graph, limits);
      EXPECT_EQ(PlanBuffers(graph, limits).arena_bytes, LowerBound(graph, limits));
    }
  }
}

TEST(BufferPlan, AnOptimizedDecoderNeedsLittleMore) {
  const Graph graph = Optimize(TestDecoder());
  for (const StepLimits limits : {StepLimits{1, 1}, StepLimits{16, 1}, StepLimits{512, 8}}) {
    ExpectSound(graph, limits);
    EXPECT_LE(PlanBuffers(graph, limits).arena_bytes, LowerBound(graph, limits) * 11 / 10);
  }
}

TEST(BufferPlan, InputsLiveFromTheStartAndLogitsToTheEnd) {
  const Graph graph = TestDecoder();
  const std::vector<Lifetime> lifetimes = Lifetimes(graph);
  EXPECT_EQ(lifetimes[static_cast<size_t>(graph.tokens.id)].first_node, -1);
  EXPECT_EQ(lifetimes[static_cast<size_t>(graph.positions.id)].first_node, -1);
  EXPECT_EQ(lifetimes[static_cast<size_t>(graph.logits.id)].last_node,
            static_cast<int>(graph.nodes.size()));
}

TEST(BufferPlan, AnEmptyStepNeedsNothing) {
  EXPECT_EQ(PlanBuffers(TestDecoder(), {}).arena_bytes, 0);
}

}  // namespace
}  // namespace tonnage
