// Loads under every budget and with every interruption; what serving allocates.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "engine/allocation_counter.h"
#include "test_host.h"

namespace tonnage {
namespace {

const std::string kLlama = kGolden + "models/llama";

TEST(Load, RefusesCleanlyUntilItFits) {
  const OpenedModel model = OpenModel(kLlama).value();
  int refused = 0;
  for (Bytes limit = 0;; limit += 64 * kKiB) {
    ASSERT_LT(limit, 64 * kMiB);
    TestHost host(limit);
    auto loaded = host.Load(model, {.slots = 2});
    if (loaded.ok()) {
      EXPECT_GE(limit, loaded->quote.Total());
      EXPECT_LT(limit - 64 * kKiB, loaded->quote.Total());
      break;
    }
    ++refused;
    EXPECT_EQ(loaded.error().code(), Code::kRefused);
    EXPECT_THAT(loaded.error().message(), testing::HasSubstr("allowed by the test"));
    EXPECT_EQ(host.ledger().Total(), 0);
    EXPECT_EQ(host.ledger().Peak(), 0) << "a refusal comes before the first allocation";
  }
  EXPECT_GT(refused, 4);
}

TEST(Load, RefusesCleanlyUntilItsBuffersFit) {
  const OpenedModel model = OpenModel(kLlama).value();
  for (std::int64_t limit = 0;; ++limit) {
    ASSERT_LT(limit, 100);
    TestHost host(kGiB, limit);
    auto loaded = host.Load(model, {.slots = 2});
    if (loaded.ok()) {
      EXPECT_EQ(limit, loaded->quote.buffers);
      EXPECT_EQ(host.budget().status().peak_buffers, limit);
      EXPECT_GT(limit, 5);
      break;
    }
    EXPECT_EQ(loaded.error().code(), Code::kRefused);
    EXPECT_THAT(loaded.error().message(),
                testing::HasSubstr(fmt::format("buffers needed, {} allowed by the test", limit)));
    EXPECT_EQ(host.budget().status().peak_buffers, 0) << "refused before the first allocation";
  }
}

TEST(Load, TheQuoteIsWhatTheLedgerSays) {
  for (const GoldenCheckpoint& checkpoint : GoldenCheckpoints()) {
    const OpenedModel model = OpenModel(checkpoint.path).value();
    for (const std::int64_t context : {64, 100, 512}) {
      TestHost host;
      {
        auto loaded = host.Load(model, {.context_tokens = context, .slots = 3});
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        const Quote& quote = loaded->quote;
        const Ledger& ledger = host.ledger();
        EXPECT_EQ(ledger.Of(Owner::kWeights), quote.weights) << checkpoint.path;
        EXPECT_EQ(ledger.Of(Owner::kKv), quote.kv);
        EXPECT_EQ(ledger.Of(Owner::kArena), quote.arena);
        EXPECT_EQ(ledger.Of(Owner::kWorkspace), quote.workspace);
        EXPECT_EQ(ledger.Of(Owner::kStaging), 0) << "given back";
        EXPECT_EQ(ledger.Peak(), quote.Total());
        EXPECT_EQ(host.budget().status().peak_buffers, quote.buffers) << checkpoint.path;
      }
      EXPECT_EQ(host.ledger().Total(), 0);
    }
  }
}

TEST(Load, TheSameBudgetGetsTheSameAnswer) {
  const OpenedModel model = OpenModel(kLlama).value();
  const LoadSettings settings{.context_tokens = 300, .slots = 2};
  TestHost plenty;
  const Bytes total =
      PlanLoad(model, plenty.backend(), settings, plenty.available())->quote.Total();
  TestHost enough(total), short_of_one(total - 1);
  std::string message;
  for (int round = 0; round < 3; ++round) {
    const auto loaded = enough.Load(model, settings);
    ASSERT_TRUE(loaded.ok()) << "round " << round << ": " << loaded.error().message();
    EXPECT_EQ(loaded->quote.Total(), total);
    const auto refused = short_of_one.Load(model, settings);
    ASSERT_FALSE(refused.ok());
    if (round > 0) {
      EXPECT_EQ(refused.error().message(), message);
    }
    message = refused.error().message();
  }
}

// A layer with a window keeps a ring of it, whatever the context; the others keep the context.
TEST(Load, ACacheIsPricedLayerByLayer) {
  const OpenedModel model = OpenModel(kGolden + "models/qwen2_windows").value();
  TestHost host;
  const auto kv_bytes = [&](std::int64_t context) {
    const LoadSettings settings{.context_tokens = context, .slots = 2, .slice_rows = 16};
    return PlanLoad(model, host.backend(), settings, host.available())->quote.kv;
  };
  Bytes expected = 0, naive = 0;
  int windows = 0;
  for (const LayerCache& layer : model.model.cache.layers) {
    const std::int64_t all = 512 / kKvPageTokens;
    const std::int64_t ring = CeilDiv(layer.window + 16, kKvPageTokens);
    expected += 2 * (layer.window > 0 ? ring : all) * PageBytes(layer, DType::kF16);
    naive += 2 * all * PageBytes(layer, DType::kF16);
    windows += layer.window > 0 ? 1 : 0;
  }
  ASSERT_GT(windows, 0);
  EXPECT_EQ(kv_bytes(512), RoundUp(expected, 4 * kKiB));
  EXPECT_LT(kv_bytes(512), naive);
}

TEST(Load, ReportsProgressByBytesAndStopsWhenAsked) {
  const OpenedModel model = OpenModel(kLlama).value();
  Bytes last = -1, all = 0;
  TestHost host;
  const auto count = [&](Bytes done, Bytes total, std::string_view) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  };
  ASSERT_TRUE(host.Load(model, {}, {.progress = count}).ok());
  EXPECT_EQ(last, all);
  EXPECT_GT(all, 100 * kKiB);

  for (int stop_after = 0; stop_after < 20; ++stop_after) {
    std::atomic<bool> cancelled{false};
    int calls = 0;
    const auto stop = [&](Bytes, Bytes, std::string_view) { cancelled = ++calls > stop_after; };
    const auto loaded = host.Load(model, {}, {.progress = stop, .cancelled = &cancelled});
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code(), Code::kCancelled);
    EXPECT_EQ(host.ledger().Total(), 0);
  }
}

TEST(Load, SettingsThatNothingCouldServeAreInvalid) {
  const OpenedModel model = OpenModel(kLlama).value();
  TestHost host;
  const std::pair<LoadSettings, const char*> cases[] = {
      {{.context_tokens = 0}, "context is 0"},
      {{.context_tokens = 513}, "513 tokens is asked for, but the model was trained for 512"},
      {{.slots = 0}, "slots is 0"},
      {{.slice_rows = 0}, "slice rows is 0"},
      {{.logit_rows = -1}, "logit rows is -1"},
  };
  for (const auto& [settings, message] : cases) {
    const auto plan = PlanLoad(model, host.backend(), settings, host.available());
    ASSERT_FALSE(plan.ok()) << message;
    EXPECT_EQ(plan.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(plan.error().message(), testing::HasSubstr(message));
  }
}

TEST(Load, EveryRungIsPlanned) {
  const OpenedModel model = OpenModel(kLlama).value();
  TestHost host;
  const auto rungs = PlanRungs(model, host.backend(), {}, host.available());
  ASSERT_TRUE(rungs.ok()) << rungs.error().message();
  ASSERT_EQ(rungs->size(), 1u);  // trained for 512
  EXPECT_EQ(rungs->front().settings.context_tokens, 512);
  EXPECT_FALSE(rungs->front().refusal.has_value());
  const auto asked = PlanRungs(model, host.backend(), {.context_tokens = 100}, host.available());
  ASSERT_TRUE(asked.ok()) << asked.error().message();
  ASSERT_EQ(asked->size(), 1u);
  EXPECT_EQ(asked->front().settings.context_tokens, 100);
}

TEST(Serving, StepsAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer owns malloc";
  for (const char* name : {"models/llama", "models/qwen3_moe"}) {
    TestHost host;
    auto engine = host.LoadEngine(kGolden + name, {.slots = 4});
    ASSERT_TRUE(engine.ok()) << engine.error().message();
    std::vector<Generation> generations;
    for (std::int32_t i = 0; i < 4; ++i) {
      Request request{.prompt = std::vector<std::int32_t>(static_cast<size_t>(20 + i), 5 + i)};
      request.sampling.top_p = 0.9;
      request.sampling.frequency_penalty = 0.1;
      generations.push_back((*engine)->Start(std::move(request)).value());
    }
    const auto read = [&](int tokens) {
      for (int i = 0; i < tokens; ++i) {
        for (Generation& generation : generations) {
          ASSERT_TRUE(std::holds_alternative<TokenEvent>(*generation.Next()));
        }
      }
    };
    read(5);
    AllocationCount count;
    read(260);
    EXPECT_EQ(count.Count(), 0) << name;
    EXPECT_EQ(host.ledger().Total(), (*engine)->quote().Total());
  }
}

}  // namespace
}  // namespace tonnage
