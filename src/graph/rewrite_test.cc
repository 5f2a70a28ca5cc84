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

  // Two layers of q, k, v, and of gate with up, the second one's of experts: 6 fewer.
  EXPECT_EQ(after.nodes.size(), before.nodes.size() - 6);
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
  const auto experts = std::ranges::find(after.nodes, Op::kExpertLinear, &Node::op);
  ASSERT_EQ(experts->outputs.size(), 2u);
  EXPECT_EQ(after.weights[static_cast<size_t>(experts->weights[1].id)].name,
            "layers.1.up_exps.weight");
}

TEST(MergeLinears, KeepsTheWorkOfDifferentLayersApart) {
  GraphBuilder g;
  const Value x = g.Embed(Module{"embed"}, 10, 4);
  const Value a = g.Linear(x, g.BeginLayer(0, "0.")["w"], 4);
  const Value b = g.Linear(x, g.BeginLayer(1, "1.")["w"], 4);
  const Graph graph = std::move(g).Finish(g.SelectRows(g.Add(a, b)));
  EXPECT_EQ(MergeLinears(graph).nodes.size(), graph.nodes.size());
}

Extent ExtentOf(const Graph& graph, Value value) {
  return graph.values[static_cast<size_t>(value.id)].extent;
}

TEST(SelectRowsEarly, ComputesTheEndForLogitRowsAlone) {
  const Graph before = TestDecoder();
  const Graph after = SelectRowsEarly(before);
  const Status valid = Validate(after, TestDecoderCache());
  ASSERT_TRUE(valid.ok()) << valid.error().message();

  // Every node behind the last attention, and none before.
  bool is_behind = false;
  int attentions = 0;
  for (const Node& node : after.nodes) {
    EXPECT_EQ(ExtentOf(after, node.outputs[0]) == Extent::kLogitRows, is_behind);
    if (node.op == Op::kAttention) is_behind = ++attentions == 2;
  }
  // Selected are the attention's output and what it is added to, instead of the last layer's
  // output.
  EXPECT_EQ(std::ranges::count(after.nodes, Op::kSelectRows, &Node::op), 2);
  EXPECT_EQ(after.nodes.size(), before.nodes.size() + 1);
  EXPECT_EQ(after.values.size(), before.values.size() + 1);
}

TEST(SelectRowsEarly, LeavesAGraphWithoutRowwiseWorkAsItIs) {
  GraphBuilder g;
  const Value x = g.SelectRows(g.Embed(Module{"embed"}, 10, 4));
  const Graph graph = SelectRowsEarly(std::move(g).Finish(x));
  ASSERT_TRUE(Validate(graph, {}).ok());
  EXPECT_EQ(graph.nodes.size(), 2u);
}

TEST(SelectRowsEarly, SelectsAValueOnceForAllWhoReadIt) {
  GraphBuilder g;
  const Value x = g.Embed(Module{"embed"}, 10, 4);
  const Value y = g.Add(g.Linear(x, Module{"a"}, 4), g.Linear(x, Module{"b"}, 4));
  const Value logits = g.SelectRows(y);
  const Graph graph = SelectRowsEarly(std::move(g).Finish(logits));
  const Status valid = Validate(graph, {});
  ASSERT_TRUE(valid.ok()) << valid.error().message();
  EXPECT_EQ(std::ranges::count(graph.nodes, Op::kSelectRows, &Node::op), 1);
  EXPECT_EQ(graph.nodes[1].op, Op::kSelectRows);
}

TEST(Optimize, DoesAll) {
  const Graph graph = Optimize(TestDecoder());
  const Status valid = Validate(graph, TestDecoderCache());
  ASSERT_TRUE(valid.ok()) << valid.error().message();
  EXPECT_EQ(graph.nodes.size(), TestDecoder().nodes.size() + 1 - 6);
}

}  // namespace
}  // namespace tonnage
