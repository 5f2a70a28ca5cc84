#include "cli/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tonnage::cli {
namespace {

// Expected values are scipy's: log_softmax, and sum(rel_entr(softmax(a), softmax(b))).
const std::vector<float> kA = {1.5f, -0.25f, 3.0f, 0.0f, 2.25f};
const std::vector<float> kB = {1.0f, 0.5f, 2.0f, -1.0f, 2.5f};

std::vector<float> LogProbs(std::vector<float> logits) {
  LogSoftmax(logits);
  return logits;
}

TEST(LogSoftmaxTest, IsScipys) {
  const double expected[] = {-2.078890538724, -3.828890538724, -0.578890538724, -3.578890538724,
                             -1.328890538724};
  const std::vector<float> row = LogProbs(kA);
  for (size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(row[i], expected[i], 3e-7) << i;
}

TEST(LogSoftmaxTest, LargeLogitsDoNotOverflow) {
  const std::vector<float> row = LogProbs({1000, 1001, 998});
  EXPECT_NEAR(row[0], -1.349012216768, 2e-7);
  EXPECT_NEAR(row[1], -0.349012216768, 2e-7);
  EXPECT_NEAR(row[2], -3.349012216768, 4e-7);
}

TEST(DivergenceTest, IsScipysInEachDirection) {
  Divergence divergence;
  divergence.Add(LogProbs(kA), LogProbs(kB));
  EXPECT_NEAR(divergence.Mean(), 0.1803184799945885, 1e-6);
  EXPECT_EQ(divergence.TopSame(), 0);
  divergence.Add(LogProbs(kB), LogProbs(kA));
  EXPECT_NEAR(divergence.Mean(), (0.1803184799945885 + 0.18927573222961502) / 2, 1e-6);
  EXPECT_NEAR(divergence.Max(), 0.18927573222961502, 1e-6);
  divergence.Add(LogProbs(kA), LogProbs(kA));
  EXPECT_EQ(divergence.rows(), 3);
  EXPECT_DOUBLE_EQ(divergence.TopSame(), 1.0 / 3);
}

TEST(LikelihoodTest, PerplexityIsTheInverseOfTheMeanProbability) {
  Likelihood likelihood;
  const std::vector<float> row = {std::log(0.5f), std::log(0.25f), std::log(0.125f)};
  likelihood.Add(row, 0);
  likelihood.Add(row, 2);
  EXPECT_EQ(likelihood.tokens(), 2);
  EXPECT_NEAR(likelihood.Perplexity(), 4, 1e-6);  // sqrt(2 * 8)
}

TEST(DivergenceTest, OfARowFromItselfIsNothing) {
  Divergence divergence;
  const std::vector<float> row = LogProbs(kA);
  divergence.Add(row, row);
  EXPECT_EQ(divergence.Mean(), 0);
  EXPECT_EQ(divergence.Max(), 0);
  EXPECT_EQ(divergence.TopSame(), 1);
}

TEST(DivergenceTest, WhatIsImpossibleAddsNothing) {
  Divergence divergence;
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<float> half = LogProbs({0, 0, never}), all = LogProbs({0, 0, 0});
  divergence.Add(half, all);
  EXPECT_NEAR(divergence.Mean(), std::log(1.5), 1e-7);
  divergence.Add(all, half);  // the reference allows what the other never says
  EXPECT_EQ(divergence.Max(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tonnage::cli
