#include "cli/bounds.h"

#include <gtest/gtest.h>

#include "graph/test_graphs.h"
#include "quant/format.h"

namespace tonnage::cli {
namespace {

class BoundsTest : public ::testing::Test {
 protected:
  // A second for 1,000 bytes, for 100 operations in f32, and for 400 in int8.
  static Peaks SlowPeaks() {
    return {.read_bytes_per_s = 1000,
            .rates = {{"f32", Arithmetic::kF32, 100}, {"int8", Arithmetic::kInt8, 400}}};
  }
  Bounds Make(FormatKind kind, Precision precision, Peaks peaks = SlowPeaks()) const {
    return Bounds(graph_, std::vector<Format>(graph_.weights.size(), Format::Of(kind)),
                  {.features = {}, .precision = precision, .kv_dtype = DType::kF16, .kernel = ""},
                  std::move(peaks));
  }
  double Operations(std::int64_t rows, std::int64_t logit_rows, std::int64_t context) const {
    const std::vector<Format> formats(graph_.weights.size(), Format::Of(FormatKind::kF16));
    return GraphCost(graph_,
                     {.rows = {rows, logit_rows}, .context_tokens = context, .formats = formats})
        .operations;
  }

  const Graph graph_ = TestDecoder();
};

TEST_F(BoundsTest, DecodeReadsActiveWeightsAndTheCache) {
  const Bounds bounds =
      Make(FormatKind::kF16, Precision::kExact,
           {.read_bytes_per_s = 1000, .rates = {{"f32", Arithmetic::kF32, 1e12}}});
  const std::vector<Format> formats(graph_.weights.size(), Format::Of(FormatKind::kF16));
  for (const std::int64_t sequences : {1, 3}) {
    const Cost cost = GraphCost(graph_, {.rows = {sequences, sequences},
                                         .sequences = sequences,
                                         .context_tokens = 200,
                                         .formats = formats});
    EXPECT_DOUBLE_EQ(bounds.DecodeSeconds(sequences, 200),
                     static_cast<double>(cost.weight_bytes + cost.cache_bytes) / 1000);
  }
  // Another token in the full layer's cache: 2 heads of 8 keys and 8 values in f16. The window's
  // is full.
  EXPECT_NEAR(bounds.DecodeSeconds(1, 201) - bounds.DecodeSeconds(1, 200), 2 * 16 * 2 / 1000.0,
              1e-9);
  // Of 6 experts a token chooses 2; many tokens choose all.
  EXPECT_LT(bounds.DecodeSeconds(1, 1), 0.75 * bounds.DecodeSeconds(64, 1));
}

TEST_F(BoundsTest, ComputeCountsWhereItIsLonger) {
  const Bounds bounds = Make(FormatKind::kF16, Precision::kExact);
  EXPECT_DOUBLE_EQ(bounds.DecodeSeconds(1, 10), Operations(1, 1, 10) / 100);
  EXPECT_DOUBLE_EQ(bounds.PrefillSeconds(1), Operations(1, 1, 1) / 100);
}

TEST_F(BoundsTest, APromptsTokensSeeThoseBeforeThem) {
  const Bounds bounds = Make(FormatKind::kF16, Precision::kExact);
  double exact = 0;
  for (std::int64_t token = 1; token <= 1000; ++token)
    exact += Operations(1, token == 1000, token) / 100;
  EXPECT_NEAR(bounds.PrefillSeconds(1000), exact, 0.002 * exact);
}

// Widths of the test graph are no whole blocks of any quantized format.
TEST_F(BoundsTest, ArithmeticIsThatOfTheKernels) {
  Graph graph = graph_;
  for (WeightSpec& weight : graph.weights) {
    if (weight.shape.rank() == 2) weight.shape = Shape({64, 256});
  }
  const auto arithmetic = [&](FormatKind kind, BoundSettings settings, bool prompt,
                              Op op = Op::kLinear) {
    const Bounds bounds(graph, std::vector<Format>(graph.weights.size(), Format::Of(kind)),
                        settings, SlowPeaks());
    for (const Node& node : graph.nodes) {
      if (node.op == op) return bounds.ArithmeticOf(node, prompt);
    }
    ADD_FAILURE();
    return Arithmetic::kF32;
  };
  const BoundSettings fast, exact = {.features = {}, .precision = Precision::kExact};
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, fast, false), Arithmetic::kInt8);
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, fast, true), Arithmetic::kInt8);
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, exact, false), Arithmetic::kF32);
  EXPECT_EQ(arithmetic(FormatKind::kF32, exact, true), Arithmetic::kF32);
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, fast, false, Op::kAttention), Arithmetic::kF32);
  // Rows of prompts go through a kernel of their own.
  const BoundSettings tiles = {
      .features = {}, .precision = Precision::kFast, .kernel = "prompt_portable"};
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, tiles, true), Arithmetic::kBf16);
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, tiles, false), Arithmetic::kInt8);
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, tiles, true, Op::kAttention), Arithmetic::kBf16);
  EXPECT_EQ(arithmetic(FormatKind::kQ4_0, tiles, false, Op::kAttention), Arithmetic::kF32);
}

}  // namespace
}  // namespace tonnage::cli
