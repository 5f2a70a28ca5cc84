#include "graph/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/test_graphs.h"
#include "graph/validate.h"

namespace tonnage {
namespace {

TEST(MergeLinears, JoinsThoseThatReadOneValue) {
  const Graph before = TestDecoder();
  const Graph after = MergeLinears(before);
  const Status valid = Validate(after, TestDecoderCache());
  ASSERT_TRUE(valid.ok()) << valid.error().message();

  // Two layers of q, k, v, and gate with up in the first: 5 fewer.
  EXPECT_EQ(after.nodes.size(), before.nodes.size() - 5);
  const auto linear = std::ranges::find(after.nodes, Op::kLinear, &Node::op);
  ASSERT_EQ(linear->outputs.size(), 3u);
  const auto name = [&](size_t i) {
    return after.weights[static_cast<size_t>(linear->weights[i].id)].name;
  };
  EXPECT_EQ(name(0), "layers.0.q.weight");
  EXPECT_EQ(name(1), "layers.0.q.bias");
  EXPECT_EQ(name(2), "layers.0.k.weight");
  EXPECT_FALSE(linear->weights[3].valid());
  EXPECT_EQ(name(4), "layers.0.v.weight");
}

TEST(MergeLinears, KeepsTheWorkOfDifferentLayersApart) {
  GraphBuilder g;
  const Value x = g.Embed(Module{"embed"}, 10, 4);
  const Value a = g.Linear(x, g.BeginLayer(0, "0.")["w"], 4);
  const Value b = g.Linear(x, g.BeginLayer(1, "1.")["w"], 4);
  const Graph graph = std::move(g).Finish(g.SelectRows(g.Add(a, b)));
  EXPECT_EQ(MergeLinears(graph).nodes.size(), graph.nodes.size());
}

}  // namespace
}  // namespace tonnage
