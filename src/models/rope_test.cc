#include "models/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr int kHeadDim = 64;
constexpr std::int64_t kContext = 4096;

Result<RopeConfig> Parse(const Json& config) {
  return ParseRope(config, kHeadDim, kContext, 10000.0);
}

float DefaultFrequency(size_t i, double theta = 10000.0) {
  return static_cast<float>(std::pow(theta, -2.0 * static_cast<double>(i) / kHeadDim));
}

TEST(Rope, DefaultTurnsEveryPairOfAHead) {
  const Result<RopeConfig> rope = Parse(Json::object());
  ASSERT_TRUE(rope.ok());
  ASSERT_EQ(rope->inverse_frequency.size(), kHeadDim / 2u);
  for (size_t i = 0; i < rope->inverse_frequency.size(); ++i) {
    EXPECT_NEAR(rope->inverse_frequency[i] / DefaultFrequency(i), 1, 1e-6);
  }
  EXPECT_EQ(rope->magnitude, 1.0f);
  EXPECT_EQ(rope->context_limit, kContext);
  EXPECT_FALSE(rope->interleaved);
}

TEST(Rope, BothSpellingsMeanTheSame) {
  const Json scaling{{"type", "linear"}, {"factor", 4.0}};
  const Json older{{"rope_theta", 5e5}, {"rope_scaling", scaling}};
  const Json newer{
      {"rope_parameters", {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5e5}}}};
  const Result<RopeConfig> a = Parse(older);
  const Result<RopeConfig> b = Parse(newer);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->inverse_frequency, b->inverse_frequency);
  EXPECT_NEAR(a->inverse_frequency[5] * 4 / DefaultFrequency(5, 5e5), 1, 1e-6);
}

TEST(Rope, APartOfAHeadMayTurn) {
  const Result<RopeConfig> rope = Parse({{"partial_rotary_factor", 0.25}});
  ASSERT_TRUE(rope.ok());
  EXPECT_EQ(rope->inverse_frequency.size(), 8u);
}

TEST(Rope, DynamicIsTheDefaultWithinItsContext) {
  const Result<RopeConfig> dynamic =
      Parse({{"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2.0}}}});
  ASSERT_TRUE(dynamic.ok());
  EXPECT_EQ(dynamic->inverse_frequency, Parse(Json::object())->inverse_frequency);
  EXPECT_EQ(dynamic->context_limit, kContext);
}

TEST(Rope, Llama3StretchesLongWavesOnly) {
  const Result<RopeConfig> rope = Parse({{"rope_scaling",
                                          {{"rope_type", "llama3"},
                                           {"factor", 8.0},
                                           {"low_freq_factor", 1.0},
                                           {"high_freq_factor", 4.0},
                                           {"original_max_position_embeddings", 64}}}});
  ASSERT_TRUE(rope.ok());
  for (size_t i = 0; i < rope->inverse_frequency.size(); ++i) {
    const float plain = DefaultFrequency(i);
    const float turns = 64 * plain / (2 * std::numbers::pi_v<float>);
    const float ratio = rope->inverse_frequency[i] / plain;
    if (turns >= 4) {
      EXPECT_NEAR(ratio, 1, 1e-5);
    } else if (turns <= 1) {
      EXPECT_NEAR(ratio, 0.125, 1e-5);
    } else {
      EXPECT_NEAR(ratio, 0.125 + 0.875 * (turns - 1) / 3, 1e-4);
    }
  }
}

TEST(Rope, YarnRampsFromKeptToStretched) {
  const Result<RopeConfig> rope = Parse(
      {{"rope_scaling",
        {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}}}});
  ASSERT_TRUE(rope.ok());
  EXPECT_NEAR(rope->magnitude, 0.1 * std::log(4.0) + 1, 1e-6);
  EXPECT_EQ(rope->context_limit, 4 * 4096);
  // 32 turns are at pair 10.47, one turn at pair 22.51: the ramp goes from pair 10 to pair 23.
  for (size_t i = 0; i < rope->inverse_frequency.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - 10) / 13, 0.0, 1.0);
    EXPECT_NEAR(rope->inverse_frequency[i] / DefaultFrequency(i), 1 - 0.75 * ramp, 1e-5) << i;
  }
}

TEST(Rope, YarnTakesItsFactorFromTheContextsWhenAbsent) {
  const Result<RopeConfig> rope = Parse({{"rope_parameters",
                                          {{"rope_type", "yarn"},
                                           {"original_max_position_embeddings", 512},
                                           {"attention_factor", 1.5}}}});
  ASSERT_TRUE(rope.ok());
  EXPECT_EQ(rope->magnitude, 1.5f);
  EXPECT_NEAR(rope->inverse_frequency.back() / DefaultFrequency(31), 512.0 / 4096, 1e-5);
}

TEST(Rope, LongropeServesTheOriginalContextWithItsShortFactors) {
  Json params{{"rope_type", "longrope"}, {"original_max_position_embeddings", 1024}};
  params["short_factor"] = std::vector<double>(32, 2.0);
  params["long_factor"] = std::vector<double>(32, 7.0);
  const Result<RopeConfig> rope = Parse({{"rope_scaling", params}});
  ASSERT_TRUE(rope.ok());
  EXPECT_EQ(rope->context_limit, 1024);
  EXPECT_NEAR(rope->inverse_frequency[3] * 2 / DefaultFrequency(3), 1, 1e-5);
  EXPECT_NEAR(rope->magnitude, std::sqrt(1 + std::log(4.0) / std::log(1024.0)), 1e-6);
}

TEST(Rope, FactorsDivideEachFrequency) {
  std::vector<double> factors(32, 1.0);
  factors[31] = 8;
  const Result<RopeConfig> rope =
      Parse({{"rope_interleaved", true},
             {"rope_parameters", {{"rope_type", "factors"}, {"factors", factors}}}});
  ASSERT_TRUE(rope.ok());
  EXPECT_TRUE(rope->interleaved);
  EXPECT_NEAR(rope->inverse_frequency[31] * 8 / DefaultFrequency(31), 1, 1e-5);
}

TEST(Rope, RefusesWhatItDoesNotKnow) {
  const struct {
    Json config;
    std::string_view message;
  } cases[] = {
      {{{"rope_scaling", {{"rope_type", "spiral"}}}}, "rope type `spiral` is not supported"},
      {{{"rope_scaling", 3}}, "`rope_scaling` must be an object"},
      {{{"rope_parameters", {{"full_attention", {{"rope_theta", 1e4}}}}}}, "by layer type"},
      {{{"rope_scaling", {{"type", "linear"}}}}, "`factor` is missing"},
      {{{"rope_scaling", {{"type", "linear"}, {"factor", "two"}}}}, "`factor` must be a number"},
      {{{"rope_theta", 1}}, "`rope_theta` is 1"},
      {{{"partial_rotary_factor", 0.01}}, "would turn 0 of 64"},
      {{{"partial_rotary_factor", 0.05}}, "would turn 3 of 64"},
      {{{"rope_scaling",
         {{"rope_type", "llama3"},
          {"factor", 8},
          {"low_freq_factor", 4},
          {"high_freq_factor", 4}}}},
       "`high_freq_factor` must be above"},
      {{{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {1, 2}}}}},
       "`short_factor` has 2 elements"},
      {{{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", 3}}}}, "must be a list"},
  };
  for (const auto& c : cases) {
    const Result<RopeConfig> rope = Parse(c.config);
    ASSERT_FALSE(rope.ok()) << c.config;
    EXPECT_THAT(rope.error().message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace tonnage
