#include "admission/quote.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

// A model of 1,000 bytes of weights, 2 bytes a cached token in f16, an arena that grows by steps.
Result<Quote> Price(const ServingSettings& settings) {
  Quote quote;
  quote.weights = 1000;
  quote.staging = 100;
  quote.kv = RoundUp(settings.context_tokens, kKvPageTokens) * settings.slots *
             DTypeBytes(settings.kv_dtype);
  quote.arena = 50 + settings.context_tokens / 1000;
  return quote;
}

Result<std::optional<Refusal>> JudgeAt(ServingSettings settings, Bytes available) {
  return Judge(Price, settings, Price(settings).value(), {available, "--memory-limit"});
}

TEST(Quote, TheTotalIsTheWorstMoment) {
  Quote quote{.weights = 1000, .kv = 30, .arena = 20, .staging = 70, .runtime = 5};
  EXPECT_EQ(quote.Total(), 1075);  // staging is back before kv and the arena come
  quote.kv = 300;
  EXPECT_EQ(quote.Total(), 1325);
}

TEST(Quote, TheTightestTermIsTheFirstThatGoesOver) {
  const Quote quote{.weights = 1000,
                    .kv = 300,
                    .arena = 20,
                    .workspace = 7,
                    .staging = 70,
                    .prefix_cache = 9,
                    .runtime = 5};
  EXPECT_EQ(TightestTerm(quote, 4), Owner::kRuntime);
  EXPECT_EQ(TightestTerm(quote, 1004), Owner::kWeights);
  EXPECT_EQ(TightestTerm(quote, 1074), Owner::kStaging);
  EXPECT_EQ(TightestTerm(quote, 1304), Owner::kKv);
  EXPECT_EQ(TightestTerm(quote, 1324), Owner::kArena);
  EXPECT_EQ(TightestTerm(quote, 1331), Owner::kWorkspace);
  EXPECT_EQ(TightestTerm(quote, 1340), Owner::kPrefixCache);
  EXPECT_EQ(TightestTerm(quote, quote.Total()), std::nullopt);
}

TEST(Quote, TheLargestContextIsExact) {
  const ServingSettings settings{.context_tokens = 5000, .slots = 2};
  for (Bytes available = 0; available < 22000; available += 97) {
    const std::int64_t context = LargestContext(Price, settings, available).value();
    ASSERT_TRUE(context % kKvPageTokens == 0 || context == 5000);
    const auto fits = [&](std::int64_t tokens) {
      return Price({.context_tokens = tokens, .slots = 2})->Total() <= available;
    };
    if (context > 0) {
      ASSERT_TRUE(fits(context)) << available;
    }
    if (context < 5000) {
      ASSERT_FALSE(fits(std::min<std::int64_t>(5000, context + kKvPageTokens))) << available;
    }
  }
}

TEST(Quote, ARefusalNamesTheTermAndWhatFits) {
  auto verdict = JudgeAt({.context_tokens = 4096, .slots = 4}, 10000);
  ASSERT_TRUE(verdict.ok() && verdict->has_value());
  const Refusal& refusal = **verdict;
  EXPECT_EQ(refusal.tightest, Owner::kKv);
  const std::vector<ServingSettings> nearest = {{4096, 1, DType::kF16}, {1088, 4, DType::kF16}};
  EXPECT_EQ(refusal.nearest, nearest);
  EXPECT_EQ(refusal.Message(),
            "33.0 KiB needed, 9.8 KiB allowed by --memory-limit; kv is 32.0 KiB of it. Fits: "
            "--context 4096 --slots 1 --kv f16, or --context 1088 --slots 4 --kv f16");
  EXPECT_FALSE(JudgeAt({.context_tokens = 1088, .slots = 4}, 10000)->has_value());
}

TEST(Quote, AWiderKvIsNarrowedFirst) {
  const auto verdict = JudgeAt({.context_tokens = 1024, .slots = 1, .kv_dtype = DType::kF32}, 3200);
  ASSERT_TRUE(verdict->has_value());
  EXPECT_EQ((*verdict)->nearest.front(), (ServingSettings{1024, 1, DType::kF16}));
}

TEST(Quote, EverythingOfferedFitsAndNothingIsOfferedBelowTheWeights) {
  for (Bytes available = 0; available < 40000; available += 333) {
    const auto verdict = JudgeAt({.context_tokens = 4096, .slots = 4}, available);
    ASSERT_TRUE(verdict.ok());
    if (!verdict->has_value()) continue;
    for (const ServingSettings& settings : (*verdict)->nearest) {
      EXPECT_LE(Price(settings)->Total(), available);
    }
    EXPECT_EQ((*verdict)->nearest.empty(), available < 1000 + 50 + 128) << available;
  }
  EXPECT_NE((*JudgeAt({.context_tokens = 64, .slots = 1}, 10))->Message().find("Not even"),
            std::string::npos);
}

TEST(Quote, ThePricersErrorIsReturned) {
  const Pricer broken = [](const ServingSettings&) -> Result<Quote> {
    return Unsupported("no kernel");
  };
  EXPECT_EQ(LargestContext(broken, {.context_tokens = 64, .slots = 1}, 10).error().code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace tonnage
