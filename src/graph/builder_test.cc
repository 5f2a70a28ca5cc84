#include "graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/test_graphs.h"
#include "graph/validate.h"

namespace tonnage {
namespace {

const WeightSpec* FindWeight(const Graph& graph, std::string_view name) {
  const auto it = std::ranges::find(graph.weights, name, &WeightSpec::name);
  return it == graph.weights.end() ? nullptr : &*it;
}

TEST(GraphBuilder, BuildsAValidGraph) {
  const Status valid = Validate(TestDecoder(), TestDecoderCache());
  EXPECT_TRUE(valid.ok()) << valid.error().message();
}

TEST(GraphBuilder, InfersShapesAndFillsTheTensorTable) {
  const Graph graph = TestDecoder();
  EXPECT_EQ(FindWeight(graph, "layers.0.q.weight")->shape, Shape({32, 24}));
  EXPECT_EQ(FindWeight(graph, "layers.0.q.bias")->shape, Shape({32}));
  EXPECT_EQ(FindWeight(graph, "layers.0.q.bias")->layer, 0);
  EXPECT_EQ(FindWeight(graph, "layers.0.k.bias"), nullptr);
  EXPECT_EQ(FindWeight(graph, "layers.1.q_norm.weight")->shape, Shape({8}));
  EXPECT_EQ(FindWeight(graph, "layers.1.gate_exps.weight")->shape, Shape({6, 16, 24}));
  EXPECT_EQ(FindWeight(graph, "layers.1.down_exps.weight")->shape, Shape({6, 24, 16}));
  EXPECT_EQ(FindWeight(graph, "norm.weight")->layer, -1);

  const ValueInfo& logits = graph.values[static_cast<size_t>(graph.logits.id)];
  EXPECT_EQ(logits.extent, Extent::kLogitRows);
  EXPECT_EQ(logits.width, 50);
}

TEST(GraphBuilder, OneNameIsOneWeight) {
  const Graph graph = TestDecoder();
  EXPECT_EQ(std::ranges::count(graph.weights, "embed.weight", &WeightSpec::name), 1);
  EXPECT_EQ(graph.nodes.front().weights[0], graph.nodes.back().weights[0]);
}

TEST(GraphBuilder, AWeightOfSeveralLayersBelongsToNone) {
  GraphBuilder g;
  Value x = g.Embed(Module{"embed"}, 10, 4);
  for (int layer : {0, 1}) x = g.Linear(x, g.BeginLayer(layer, "shared.")["w"], 4);
  const Graph graph = std::move(g).Finish(g.SelectRows(x));
  EXPECT_EQ(FindWeight(graph, "shared.w.weight")->layer, -1);
  EXPECT_EQ(graph.nodes[1].layer, 0);
  EXPECT_EQ(graph.nodes[2].layer, 1);
}

TEST(GraphBuilderDeathTest, MisuseIsABug) {
  GraphBuilder g;
  const Value x = g.Embed(Module{"embed"}, 10, 4);
  EXPECT_DEATH(g.Add(x, g.Linear(x, Module{"w"}, 5)), "both sides must be alike");
  EXPECT_DEATH(g.Linear(x, Module{"embed"}, 11), "is used as");
  EXPECT_DEATH(g.HeadNorm(x, Module{"n"}, 3, 1e-5f), "group must divide");
  EXPECT_DEATH(std::move(g).Finish(x), "kLogitRows");
}

}  // namespace
}  // namespace tonnage
