// Loads on simulated devices: the quote against the peak, every budget, the watchdog and the case
// of a whole model in one submission.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "machine.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

TEST(SimLoad, TheQuoteIsThePeakToTheByteOnEveryProfile) {
  for (const auto& entry : std::filesystem::directory_iterator(GoldenModel(""))) {
    const OpenedModel model = OpenModel(entry.path()).value();
    for (const SimProfile& profile : SimProfiles()) {
      SCOPED_TRACE(entry.path().string() + " on " + std::string(profile.name));
      SimMachine machine(profile);
      const LoadSettings settings{.context_tokens = 100, .slots = 2};
      const Quote quote = PlanLoad(model, machine.backend, settings, machine.available())->quote;
      {
        const auto engine = machine.LoadEngine(model, settings);
        ASSERT_TRUE(engine.ok()) << engine.error().message();
        EXPECT_EQ((*engine)->quote().Total(), quote.Total());
        auto generation = (*engine)->Start(GreedyRequest(60, 40)).value();
        EXPECT_EQ(Drain(generation).done.reason, FinishReason::kLength) << "the full context";
        for (int owner = 0; owner < kOwnerCount; ++owner) {
          const Bytes held = machine.device.ledger().Of(static_cast<Owner>(owner));
          const bool given_back = static_cast<Owner>(owner) == Owner::kStaging;
          EXPECT_EQ(held, given_back ? 0 : quote.Of(static_cast<Owner>(owner)))
              << OwnerName(static_cast<Owner>(owner));
        }
      }
      EXPECT_EQ(machine.device.ledger().Peak(), quote.Total());
      EXPECT_EQ(machine.device.budget().status().peak_bytes, quote.Total());
      EXPECT_TRUE(machine.Empty());
    }
  }
}

TEST(SimLoad, RefusesCleanlyUntilItFitsAndAnswersTheSame) {
  const OpenedModel model = OpenModel(GoldenModel("qwen2_windows")).value();
  const LoadSettings settings{.context_tokens = 128, .slots = 2};
  int refusals = 0;
  for (Bytes memory = 0;; memory += 16 * kKiB) {
    ASSERT_LT(memory, 64 * kMiB);
    SimProfile profile = ScaledM1();
    profile.memory_bytes = memory;
    std::string answers[2];
    bool fits = false;
    for (std::string& answer : answers) {  // the same input, the same answer
      SimMachine machine(profile);
      const auto engine = machine.LoadEngine(model, settings);
      EXPECT_TRUE(machine.Balanced());
      fits = engine.ok();
      if (fits) {
        EXPECT_LE((*engine)->quote().Total(), memory);
        EXPECT_GT((*engine)->quote().Total(), memory - 16 * kKiB);
        auto generation = (*engine)->Start(GreedyRequest(20, 10)).value();
        for (const std::int32_t token : Drain(generation).tokens) {
          answer += std::to_string(token) + " ";
        }
      } else {
        answer = engine.error().message();
        EXPECT_EQ(engine.error().code(), Code::kRefused);
        EXPECT_THAT(answer, HasSubstr("allowed by sim:m1"));
        EXPECT_TRUE(machine.Empty());
        EXPECT_EQ(machine.device.ledger().Peak(), 0) << "refused before anything is taken";
      }
    }
    EXPECT_EQ(answers[0], answers[1]);
    if (fits) break;
    ++refusals;
  }
  EXPECT_GT(refusals, 10);
}

TEST(SimLoad, RefusesCleanlyUntilTheBuffersSuffice) {
  const OpenedModel model = OpenModel(GoldenModel("qwen2_windows")).value();
  for (std::int64_t buffers = 0;; ++buffers) {
    ASSERT_LT(buffers, 50);
    SimProfile profile = ScaledM1();
    profile.buffers = buffers;
    SimMachine machine(profile);
    const auto loaded = machine.Load(model, {.context_tokens = 64});
    EXPECT_TRUE(machine.Balanced());
    if (loaded.ok()) {
      EXPECT_GT(buffers, 4);
      break;
    }
    EXPECT_EQ(loaded.error().code(), Code::kRefused);
    EXPECT_THAT(loaded.error().message(), HasSubstr("one more buffer needed"));
    EXPECT_TRUE(machine.Empty());
  }
}

// With the memory rises the context that fits, and with the context what a request may ask for.
TEST(SimLoad, ARequestIsRefusedWithTheNumbersUntilItFits) {
  const OpenedModel model = OpenModel(GoldenModel("llama_biases")).value();
  const LoadSettings wanted{.context_tokens = 448, .slots = 2};
  std::vector<std::int32_t> answer;
  int refused = 0, served = 0;
  for (Bytes memory = 0; served < 3; memory += 16 * kKiB) {
    ASSERT_LT(memory, 64 * kMiB);
    SimProfile profile = ScaledM1();
    profile.memory_bytes = memory;
    SimMachine machine(profile);
    LoadSettings settings = wanted;
    const auto plan = PlanLoad(model, machine.backend, settings, machine.available()).value();
    if (plan.refusal) {
      settings.context_tokens = 0;
      for (const ServingSettings& offer : plan.refusal->nearest) {
        const bool same = offer.slots == 2 && offer.kv_dtype == wanted.kv_dtype;
        if (same) settings.context_tokens = offer.context_tokens;
      }
      if (settings.context_tokens == 0) continue;
    }
    {
      const auto engine = machine.LoadEngine(model, settings);
      ASSERT_TRUE(engine.ok()) << "what is offered fits: " << engine.error().message();
      const Bytes held = machine.device.allocated_bytes();
      auto generation = (*engine)->Start(GreedyRequest(200, 50));
      if (*settings.context_tokens < 250) {
        ++refused;
        ASSERT_FALSE(generation.ok());
        EXPECT_EQ(generation.error().code(), Code::kTooLong);
        EXPECT_THAT(generation.error().message(),
                    HasSubstr(std::to_string(*settings.context_tokens)));
      } else {
        ++served;
        ASSERT_TRUE(generation.ok()) << generation.error().message();
        const Outcome outcome = Drain(*generation);
        EXPECT_EQ(outcome.done.reason, FinishReason::kLength);
        EXPECT_EQ(outcome.tokens.size(), 50u);
        if (answer.empty()) answer = outcome.tokens;
        EXPECT_EQ(outcome.tokens, answer);
      }
      EXPECT_EQ(machine.device.allocated_bytes(), held);
      EXPECT_TRUE(machine.Balanced());
    }
    EXPECT_TRUE(machine.Empty());
  }
  EXPECT_GE(refused, 3);
}

// A conversion of the whole model in one submission is what killed 2 starts of 140 elsewhere.
TEST(SimLoad, TheWatchdogKillsAnUnboundedLoadAndNoneOfAThousandBoundedOnes) {
  const OpenedModel model = OpenModel(GoldenModel("llama")).value();
  const LoadSettings settings{.context_tokens = 64, .slice_rows = 16};
  SimMachine unbounded(ScaledM1(), SubmissionLimits{});
  const auto killed = unbounded.Load(model, settings);
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().code(), Code::kUnavailable);
  EXPECT_THAT(killed.error().message(), HasSubstr("watchdog"));
  EXPECT_EQ(unbounded.device.statistics().kills, 1);
  EXPECT_TRUE(unbounded.Empty());

  SimMachine machine(ScaledM1());
  for (int load = 0; load < 1000; ++load) {
    const auto loaded = machine.Load(model, settings);
    ASSERT_TRUE(loaded.ok()) << load << ": " << loaded.error().message();
  }
  const SimStatistics statistics = machine.device.statistics();
  EXPECT_EQ(statistics.kills, 0);
  EXPECT_LE(statistics.longest_ms, 1001);
  EXPECT_GT(statistics.longest_ms, 100) << "the device is slow enough for the test to mean much";
  EXPECT_GT(statistics.submissions, 5000);
  EXPECT_TRUE(machine.Empty());
}

TEST(SimLoad, ATenantThatCameBetweenQuoteAndLoadIsARefusal) {
  const OpenedModel model = OpenModel(GoldenModel("llama_biases")).value();
  SimMachine machine(ScaledM1());
  const Available before = machine.available();
  const LoadSettings settings{.context_tokens = 64};
  const Bytes total = PlanLoad(model, machine.backend, settings, before)->quote.Total();
  for (Bytes left = 0; left < total; left += 8 * kKiB) {
    machine.device.SetForeignBytes(ScaledM1().memory_bytes - left);
    const auto loaded = LoadModel(model, machine.backend, machine.device, settings, before);
    ASSERT_FALSE(loaded.ok()) << left;
    EXPECT_EQ(loaded.error().code(), Code::kRefused);
    EXPECT_THAT(loaded.error().message(), HasSubstr("beside other tenants"));
    EXPECT_TRUE(machine.Empty());
  }
  machine.device.SetForeignBytes(0);
  EXPECT_TRUE(LoadModel(model, machine.backend, machine.device, settings, before).ok());
}

}  // namespace
}  // namespace tonnage
