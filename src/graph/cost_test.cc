#include "graph/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/rewrite.h"
#include "graph/test_graphs.h"

namespace tonnage {
namespace {

class CostTest : public ::testing::Test {
 protected:
  CostTest()
      : graph_(TestDecoder()), formats_(graph_.weights.size(), Format::Of(FormatKind::kF16)) {}

  CostStep Step(std::int64_t rows, std::int64_t context) const {
    return {.rows = {rows, 1}, .context_tokens = context, .formats = formats_};
  }
  // Of the n-th node with that op.
  Cost Of(Op op, const CostStep& step, int n = 0) const {
    for (const Node& node : graph_.nodes) {
      if (node.op == op && n-- == 0) return NodeCost(graph_, node, step);
    }
    ADD_FAILURE() << "no such node";
    return {};
  }

  Graph graph_;
  std::vector<Format> formats_;
};

TEST_F(CostTest, LinearCountsMultiplyAddsAndItsWeightOnce) {
  const Cost cost = Of(Op::kLinear, Step(5, 5));  // q: 24 -> 32, with a bias
  EXPECT_EQ(cost.operations, 2.0 * 5 * 24 * 32);
  EXPECT_EQ(cost.weight_bytes, 24 * 32 * 2 + 32 * 4);
  EXPECT_EQ(cost.value_bytes, 5 * (24 + 32) * 4);
  EXPECT_EQ(cost.cache_bytes, 0);
}

TEST_F(CostTest, WeightsCountInTheirFormat) {
  formats_.assign(formats_.size(), Format::Of(FormatKind::kF32));
  EXPECT_EQ(Of(Op::kLinear, Step(1, 1)).weight_bytes, 24 * 32 * 4 + 32 * 4);
}

TEST_F(CostTest, EmbeddingReadsARowAToken) {
  EXPECT_EQ(Of(Op::kEmbed, Step(3, 3)).weight_bytes, 3 * 24 * 2);
}

TEST_F(CostTest, TheHeadCountsLogitRowsOnly) {
  const int linears = static_cast<int>(std::ranges::count(graph_.nodes, Op::kLinear, &Node::op));
  const Cost head = Of(Op::kLinear, Step(100, 100), linears - 1);
  EXPECT_EQ(head.operations, 2.0 * 1 * 24 * 50);
}

TEST_F(CostTest, AttentionSeesTheContextOrItsWindow) {
  const Bytes token = 2 * (8 + 8) * 2;
  const Cost window = Of(Op::kAttention, Step(4, 100), 0);  // 16 tokens
  EXPECT_EQ(window.operations, 2.0 * 4 * 4 * 16 * 16);
  EXPECT_EQ(window.cache_bytes, token * (16 + 4));
  const Cost full = Of(Op::kAttention, Step(4, 100), 1);
  EXPECT_EQ(full.operations, 2.0 * 4 * 4 * 16 * 100);
  EXPECT_EQ(full.cache_bytes, token * (100 + 4));

  CostStep codes = Step(4, 100);
  codes.kv_dtype = DType::kU8;
  EXPECT_EQ(Of(Op::kAttention, codes, 1).cache_bytes, 2 * (8 + 8 + 4) * (100 + 4));

  CostStep batch = Step(4, 100);
  batch.sequences = 4;
  EXPECT_EQ(Of(Op::kAttention, batch, 1).cache_bytes, token * (4 * 100 + 4));
}

TEST_F(CostTest, ExpertsCountOnceHoweverManyRowsChooseThem) {
  const Bytes expert = 16 * 24 * 2;
  const Cost one = Of(Op::kExpertLinear, Step(1, 1));
  EXPECT_EQ(one.weight_bytes, 2 * expert);
  EXPECT_EQ(one.operations, 2.0 * 2 * 16 * 24);
  EXPECT_EQ(Of(Op::kExpertLinear, Step(1000, 1000)).weight_bytes, 6 * expert);
}

TEST_F(CostTest, MergingChangesOnlyHowOftenValuesAreRead) {
  const CostStep step = Step(7, 50);
  const Cost before = GraphCost(graph_, step);
  const Cost after = GraphCost(MergeLinears(graph_), step);
  EXPECT_EQ(before.operations, after.operations);
  EXPECT_EQ(before.weight_bytes, after.weight_bytes);
  EXPECT_EQ(before.cache_bytes, after.cache_bytes);
  // Of 6 nodes, the input; of one of them, two experts' ids a row.
  EXPECT_EQ(before.value_bytes - after.value_bytes, 7 * (6 * 24 * 4 + 2 * 4));
  EXPECT_EQ(after.TotalBytes(), after.weight_bytes + after.value_bytes + after.cache_bytes);
}

}  // namespace
}  // namespace tonnage
