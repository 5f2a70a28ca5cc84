#include "admission/quote.h"

#include <gtest/gtest.h>

#include <random>

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
  const std::vector<ServingSettings> nearest = {
      {4096, 1, DType::kF16}, {1088, 4, DType::kF16}, {4096, 2, DType::kU8}, {2176, 4, DType::kU8}};
  EXPECT_EQ(refusal.nearest, nearest);
  EXPECT_EQ(
      refusal.Message(),
      "33.0 KiB needed, 9.8 KiB allowed by --memory-limit; the kv term alone is 32.0 KiB. Fits: "
      "--slots 1, or --context 1088, or --slots 2 --kv q8, or --context 2176 --kv q8");
  EXPECT_FALSE(JudgeAt({.context_tokens = 1088, .slots = 4}, 10000)->has_value());
}

TEST(Quote, BuffersAreCountedLikeBytes) {
  const ServingSettings settings{.context_tokens = 64, .slots = 1};
  Quote quote = Price(settings).value();
  quote.buffers = 35;
  Available available{10000, "RAM", 35, "TONNAGE_BUFFER_LIMIT"};
  EXPECT_FALSE(Judge(Price, settings, quote, available)->has_value());
  available.buffers = 34;
  auto verdict = Judge(Price, settings, quote, available).value();
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->TooManyBuffers());
  EXPECT_EQ(verdict->tightest, std::nullopt);
  EXPECT_EQ(verdict->Message(),
            "35 buffers needed, 34 allowed by TONNAGE_BUFFER_LIMIT: the model needs as many with "
            "any settings");
  // Fewer bytes would not help either, so none are offered.
  available.bytes = 1100;
  verdict = Judge(Price, settings, quote, available).value();
  EXPECT_EQ(verdict->tightest, Owner::kKv);
  EXPECT_TRUE(verdict->nearest.empty());
}

TEST(Quote, SlotsAreGivenUpOneByOne) {
  // 4 slots of 4,096 tokens do not fit, 3 do.
  const auto verdict = JudgeAt({.context_tokens = 4096, .slots = 4}, 1000 + 54 + 3 * 8192);
  EXPECT_EQ((*verdict)->nearest[0], (ServingSettings{4096, 4, DType::kU8}));
  EXPECT_EQ((*verdict)->nearest[1], (ServingSettings{4096, 3, DType::kF16}));
}

TEST(Quote, AWiderKvIsNarrowedFirst) {
  const auto verdict = JudgeAt({.context_tokens = 1024, .slots = 1, .kv_dtype = DType::kF32}, 3200);
  ASSERT_TRUE(verdict->has_value());
  EXPECT_EQ((*verdict)->Alternatives(), "--kv f16, or --context 512");
}

TEST(Quote, AKvIsNarrowedNoFurtherThanItMust) {
  const auto q8 = JudgeAt({.context_tokens = 1024, .slots = 1}, 2200);
  EXPECT_EQ((*q8)->Alternatives(), "--kv q8, or --context 512");
  const auto two_steps =
      JudgeAt({.context_tokens = 1024, .slots = 1, .kv_dtype = DType::kF32}, 2200);
  EXPECT_EQ((*two_steps)->Alternatives(), "--kv q8, or --context 256");
}

TEST(Quote, SeveralChangesAreOfferedWhereOneIsNotEnough) {
  const auto verdict =
      JudgeAt({.context_tokens = 4096, .slots = 64, .kv_dtype = DType::kF32}, 1300);
  ASSERT_TRUE(verdict->has_value());
  EXPECT_EQ((*verdict)->Alternatives(), "--context 192 --slots 1 --kv q8");
}

TEST(Quote, AWeightThatNothingHelpsIsNamed) {
  const auto verdict = JudgeAt({.context_tokens = 64, .slots = 1}, 900);
  EXPECT_EQ((*verdict)->tightest, Owner::kWeights);
  EXPECT_EQ(
      (*verdict)->Message(),
      "1.2 KiB needed, 900 B allowed by --memory-limit; the weights term alone is 1000 B. Not even "
      "the smallest context with one slot fits");
}

TEST(Quote, EverythingOfferedFitsAndNothingIsOfferedBelowTheWeights) {
  for (Bytes available = 0; available < 40000; available += 333) {
    const auto verdict = JudgeAt({.context_tokens = 4096, .slots = 4}, available);
    ASSERT_TRUE(verdict.ok());
    if (!verdict->has_value()) continue;
    for (const ServingSettings& settings : (*verdict)->nearest) {
      EXPECT_LE(Price(settings)->Total(), available);
    }
    EXPECT_EQ((*verdict)->nearest.empty(), available < 1000 + 50 + 64) << available;
  }
  EXPECT_NE((*JudgeAt({.context_tokens = 64, .slots = 1}, 10))->Message().find("Not even"),
            std::string::npos);
}

// A pricer with random terms, each of which grows with context and slots by steps of its own.
Pricer RandomPricer(std::mt19937& random) {
  const auto draw = [&](Bytes low, Bytes high) {
    return std::uniform_int_distribution<Bytes>(low, high)(random);
  };
  const Quote base{.weights = draw(0, 5000),
                   .arena = draw(0, 500),
                   .workspace = draw(0, 100),
                   .staging = draw(0, 8000),
                   .prefix_cache = draw(0, 300),
                   .runtime = draw(0, 2000)};
  const Bytes token = draw(1, 4), state = draw(0, 50), page = draw(1, 300), row = draw(0, 9);
  return [=](const ServingSettings& settings) -> Result<Quote> {
    Quote quote = base;
    quote.kv = token * RoundUp(settings.context_tokens, kKvPageTokens) * settings.slots *
               DTypeBytes(settings.kv_dtype);
    quote.state = state * settings.slots;
    quote.arena += row * (settings.slots + std::min<std::int64_t>(512, settings.context_tokens));
    quote.workspace += settings.context_tokens / page;
    return quote;
  };
}

// Whatever the prices: what is offered fits, and no more of it would.
TEST(Quote, TheSolverIsRightForRandomPrices) {
  std::mt19937 random(7);
  int refused = 0, offers = 0;
  for (int round = 0; round < 3000; ++round) {
    const Pricer price = RandomPricer(random);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const ServingSettings asked{draw(1, 6000), draw(1, 20),
                                draw(0, 1) == 0 ? DType::kF32 : DType::kF16};
    const Quote quote = price(asked).value();
    const Bytes available = draw(0, 2 * quote.Total());
    const auto fits = [&](const ServingSettings& s) {
      return price(s).value().Total() <= available;
    };
    const auto verdict = Judge(price, asked, quote, {available, "the test"}).value();
    ASSERT_EQ(verdict.has_value(), !fits(asked));
    if (!verdict) continue;
    ++refused;
    const auto again = Judge(price, asked, quote, {available, "the test"}).value();
    ASSERT_EQ(again->nearest, verdict->nearest);
    ASSERT_EQ(again->Message(), verdict->Message());
    for (const ServingSettings& offer : verdict->nearest) {
      ++offers;
      ASSERT_TRUE(fits(offer));
      ServingSettings more = offer;
      if (offer.context_tokens < asked.context_tokens) {
        more.context_tokens = std::min(asked.context_tokens, offer.context_tokens + kKvPageTokens);
        ASSERT_FALSE(fits(more)) << "a page more would fit";
      } else if (offer.slots < asked.slots) {
        ++more.slots;
        ASSERT_FALSE(fits(more)) << "a slot more would fit";
      }
    }
    ServingSettings least{std::min(asked.context_tokens, kKvPageTokens), 1, DType::kU8};
    if (asked.context_tokens > kKvPageTokens || asked.slots > 1) {
      ASSERT_EQ(verdict->nearest.empty(), !fits(least));
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(offers, 500);
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
