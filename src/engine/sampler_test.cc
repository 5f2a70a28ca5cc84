#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace tonnage {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<std::int32_t> DrawMany(const SamplingParams& params, std::vector<float> logits, int n,
                                   std::vector<std::int32_t> prompt = {}) {
  SamplerScratch scratch(static_cast<std::int64_t>(logits.size()));
  Sampler sampler(params, prompt, n, 7);
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back(sampler.Next(logits, scratch).value());
  return tokens;
}

// Shares of each token among many draws.
std::vector<double> Shares(const SamplingParams& params, const std::vector<float>& logits) {
  constexpr int kDraws = 40000;
  std::vector<double> shares(logits.size());
  for (std::int32_t token : DrawMany(params, logits, kDraws)) {
    shares[static_cast<size_t>(token)] += 1.0 / kDraws;
  }
  return shares;
}

void ExpectShares(const std::vector<double>& shares, const std::vector<double>& expected) {
  ASSERT_EQ(shares.size(), expected.size());
  for (size_t i = 0; i < shares.size(); ++i) {
    // Five standard deviations of a share of 40,000 draws; what must not be drawn never is.
    const double slack = 5 * std::sqrt(expected[i] * (1 - expected[i]) / 40000) + 1e-9;
    EXPECT_NEAR(shares[i], expected[i], slack) << "token " << i;
  }
}

std::vector<float> LogsOf(std::vector<double> probabilities) {
  std::vector<float> logits;
  for (double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) + 3);
  return logits;
}

TEST(Random, GivesTheSameNumbersEverywhere) {
  // xoshiro256++ after splitmix64(1), from a second implementation in another language.
  Random exact(1);
  for (std::uint64_t expected :
       {0xcfc5d07f6f03c29bu, 0xbf424132963fe08du, 0x19a37d5757aaf520u, 0xbf08119f05cd56d6u}) {
    EXPECT_EQ(exact.Next(), expected);
  }
  Random a(1), b(1), c(2);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double unit = a.NextUnit();
    EXPECT_EQ(unit, b.NextUnit());
    ASSERT_TRUE(unit >= 0 && unit < 1);
    sum += unit;
  }
  EXPECT_NE(a.Next(), c.Next());
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Sampler, TemperatureShapesTheDistribution) {
  ExpectShares(Shares({}, LogsOf({0.5, 0.3, 0.15, 0.05})), {0.5, 0.3, 0.15, 0.05});
  // At temperature 0.5 probabilities are squared and divided by their sum.
  ExpectShares(Shares({.temperature = 0.5}, LogsOf({0.5, 0.3, 0.2})),
               {0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38});
  ExpectShares(Shares({.temperature = 1e-300}, LogsOf({0.3, 0.5, 0.2})), {0, 1, 0});
}

TEST(Sampler, GreedyTakesTheFirstOfTheHighest) {
  EXPECT_EQ(DrawMany({.temperature = 0}, {1, 4, -2, 4}, 2), (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(DrawMany({.temperature = 0}, {kNaN, -kInfinity, -5}, 1),
            (std::vector<std::int32_t>{2}));
}

TEST(Sampler, TopKKeepsK) {
  ExpectShares(Shares({.top_k = 2}, LogsOf({0.1, 0.4, 0.2, 0.3})), {0, 4.0 / 7, 0, 3.0 / 7});
  ExpectShares(Shares({.top_k = 9}, LogsOf({0.4, 0.6})), {0.4, 0.6});
}

TEST(Sampler, TopPKeepsTheFewestThatHoldTheShare) {
  ExpectShares(Shares({.top_p = 0.75}, LogsOf({0.1, 0.4, 0.2, 0.3})),
               {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  ExpectShares(Shares({.top_p = 0}, LogsOf({0.1, 0.4, 0.2, 0.3})), {0, 1, 0, 0});
}

TEST(Sampler, MinPIsRelativeToTheLikeliest) {
  ExpectShares(Shares({.min_p = 0.6}, LogsOf({0.1, 0.4, 0.2, 0.3})), {0, 4.0 / 7, 0, 3.0 / 7});
  ExpectShares(Shares({.min_p = 1}, LogsOf({0.1, 0.4, 0.2, 0.3})), {0, 1, 0, 0});
}

TEST(Sampler, TypicalKeepsWhatSurprisesAsMuchAsTheAverage) {
  // Entropy 1.104 nats; surprises 0.598, 1.204, 2.303, 3.507, 3.507: the nearest is token 1, then
  // 0.
  const auto logits = LogsOf({0.55, 0.3, 0.1, 0.03, 0.02});
  ExpectShares(Shares({.typical_p = 0.25}, logits), {0, 1, 0, 0, 0});
  ExpectShares(Shares({.typical_p = 0.6}, logits), {0.55 / 0.85, 0.3 / 0.85, 0, 0, 0});
}

TEST(Sampler, FiltersActOnWhatTheOneBeforeLeft) {
  // Top-k leaves 0.4, 0.3, 0.2 of 0.9; top-p 0.75 of those needs two, where of the whole it needs
  // three.
  ExpectShares(Shares({.top_k = 3, .top_p = 0.75}, LogsOf({0.1, 0.4, 0.2, 0.3})),
               {0, 4.0 / 7, 0, 3.0 / 7});
}

// Pruning before the filters must not change what they keep: compare with filters on everything.
TEST(Sampler, ManyTokensGiveWhatTheFiltersAloneGive) {
  Random random(11);
  std::vector<float> logits(3000);
  for (int round = 0; round < 60; ++round) {
    const double spread = 1 + round % 12;
    for (float& logit : logits) logit = static_cast<float>(random.NextUnit() * spread);
    const SamplingParams params{.temperature = 0.6 + 0.1 * (round % 5),
                                .top_p = 0.5 + 0.099 * (round % 6),
                                .min_p = round % 3 == 0 ? 0.02 * (round % 7) : 0.0,
                                .seed = static_cast<std::uint64_t>(round)};
    std::vector<Candidate> all(logits.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = {.logit = logits[i], .token = static_cast<std::int32_t>(i)};
    }
    const double total = SetWeights(all, static_cast<float>(params.temperature));
    auto kept = params.top_p < 1 ? KeepTopP(all, params.top_p, total) : std::span(all);
    kept = KeepMinP(kept, params.min_p);
    Random same(*params.seed);
    EXPECT_EQ(DrawMany(params, logits, 1)[0], Draw(kept, same.NextUnit()).token) << round;
  }
}

TEST(Sampler, BiasForbidsAndForces) {
  const auto logits = LogsOf({0.25, 0.25, 0.5});
  ExpectShares(Shares({.logit_bias = {{2, -100}}}, logits), {0.5, 0.5, 0});
  EXPECT_EQ(DrawMany({.temperature = 0, .logit_bias = {{0, 50}}}, logits, 1)[0], 0);
}

TEST(Sampler, RepetitionPenaltyCountsThePromptToo) {
  SamplingParams params{.temperature = 0, .repetition_penalty = 2};
  // 4 / 2 < 3; then 3 / 2 < 2; -1 * 2 stays the lowest.
  EXPECT_EQ(DrawMany(params, {4, 3, -1}, 2, {0, 0, 2}), (std::vector<std::int32_t>{1, 0}));
  params.repeat_last_n = 1;  // only the last token is seen
  EXPECT_EQ(DrawMany(params, {4, 3, -1}, 3, {0}), (std::vector<std::int32_t>{1, 0, 1}));
  params.repeat_last_n = 0;
  EXPECT_EQ(DrawMany(params, {4, 3, -1}, 2, {0}), (std::vector<std::int32_t>{0, 0}));
}

TEST(Sampler, PresenceAndFrequencyCountTheAnswerOnly) {
  EXPECT_EQ(DrawMany({.temperature = 0, .presence_penalty = 1.5}, {4, 3, 2}, 4, {0, 0}),
            (std::vector<std::int32_t>{0, 1, 0, 0}));
  EXPECT_EQ(DrawMany({.temperature = 0, .frequency_penalty = 0.75}, {4, 3, 2}, 5, {0}),
            (std::vector<std::int32_t>{0, 0, 1, 0, 1}));
}

TEST(Sampler, SameSeedSameTokens) {
  std::vector<float> logits(1000);
  std::iota(logits.begin(), logits.end(), 0.0f);
  for (float& logit : logits) logit = std::fmod(logit * 7.13f, 5.0f);
  const SamplingParams params{.temperature = 0.9, .top_p = 0.95, .seed = 42};
  EXPECT_EQ(DrawMany(params, logits, 50), DrawMany(params, logits, 50));
  SamplingParams other = params;
  other.seed = 43;
  EXPECT_NE(DrawMany(params, logits, 50), DrawMany(other, logits, 50));
}

TEST(Sampler, BrokenLogitsAreAnError) {
  SamplerScratch scratch(2);
  Sampler sampler({}, {}, 4, 1);
  for (const auto& logits : {std::vector<float>{kNaN, kNaN},
                             {-kInfinity, -kInfinity},
                             std::vector<float>{kInfinity, 0}}) {
    EXPECT_EQ(sampler.Next(logits, scratch).error().code(), Code::kInternal);
  }
  EXPECT_EQ(sampler.Next(std::vector<float>{kNaN, 1}, scratch).value(), 1);
}

TEST(Sampler, LogprobsAreOfTheRawDistribution) {
  const std::vector<float> logits = LogsOf({0.1, 0.4, 0.2, 0.3});
  TokenLogprob top[2];
  EXPECT_NEAR(Logprobs(logits, 2, top), std::log(0.2), 1e-5);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_NEAR(top[0].logprob, std::log(0.4), 1e-5);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_NEAR(top[1].logprob, std::log(0.3), 1e-5);
  EXPECT_NEAR(Logprobs(std::vector<float>{-1000, 1000}, 0, {}), -2000, 1e-3);
}

TEST(Candidates, ExpIsCloseEverywhere) {
  for (float x = -86.9f; x <= 0; x += 0.0137f) {
    EXPECT_NEAR(ExpNonPositive(x) / std::exp(static_cast<double>(x)), 1, 3e-7) << x;
  }
  EXPECT_EQ(ExpNonPositive(0), 1);
  EXPECT_EQ(ExpNonPositive(-kInfinity), 0);
  EXPECT_EQ(ExpNonPositive(kNaN), 0);
}

TEST(Candidates, TopKOfManyEqualsASort) {
  std::vector<float> logits(5000);
  Random random(3);
  for (float& logit : logits) logit = static_cast<float>(random.Next() % 700);  // with many ties
  std::vector<std::int32_t> expected(logits.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  for (size_t k : {1, 2, 40, 1000}) {
    std::vector<Candidate> room(k);
    const auto top = SelectTopK(logits, room);
    ASSERT_EQ(top.size(), k);
    for (size_t i = 0; i < k; ++i) ASSERT_EQ(top[i].token, expected[i]) << k << " " << i;
  }
}

TEST(SamplingParams, EveryFieldIsChecked) {
  EXPECT_TRUE(ValidateSampling({}, 10).ok());
  const std::pair<SamplingParams, const char*> bad[] = {
      {{.temperature = -0.1}, "temperature is -0.1, but must be from 0 to 100"},
      {{.temperature = kNaN}, "temperature is nan, but must be from 0 to 100"},
      {{.top_k = -1}, "top_k is -1, but must be 0 (off) or more"},
      {{.top_p = 1.5}, "top_p is 1.5, but must be from 0 to 1"},
      {{.min_p = -1}, "min_p is -1, but must be from 0 to 1"},
      {{.typical_p = kInfinity}, "typical_p is inf, but must be from 0 to 1"},
      {{.repetition_penalty = 0}, "repetition_penalty is 0, but must be from 0.01 to 100"},
      {{.presence_penalty = 101}, "presence_penalty is 101, but must be from -100 to 100"},
      {{.frequency_penalty = -101}, "frequency_penalty is -101, but must be from -100 to 100"},
      {{.repeat_last_n = -2}, "repeat_last_n is -2, but must be -1 (all), 0 (off) or more"},
      {{.logit_bias = {{10, 1}}},
       "logit_bias names token 10, but the vocabulary has tokens 0 to 9"},
      {{.logit_bias = {{3, 101}}}, "logit_bias of token 3 is 101, but must be from -100 to 100"},
  };
  for (const auto& [params, message] : bad) {
    const Status status = ValidateSampling(params, 10);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code(), Code::kInvalidArgument);
    EXPECT_EQ(status.error().message(), message);
  }
}

}  // namespace
}  // namespace tonnage
