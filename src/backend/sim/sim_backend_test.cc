#include "backend/sim/sim_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "backend/interpreter_for_test.h"
#include "backend/sim/sim_program.h"
#include "backend/sim/testing.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr SubmissionLimits kUnbounded = {};

SimProfile Unwatched() {
  SimProfile profile = SmallProfile();
  profile.watchdog_ms = kNoWatchdog;
  return profile;
}

TEST(SimBackend, MatchesTheObviousComputation) {
  const auto tokens = RandomTokens(kContext, 1);
  for (const char* kernel : {"", "reference"}) {
    SimDecoder decoder({.profile = Unwatched()}, {.limits = kUnbounded, .kernel = kernel});
    ASSERT_TRUE(decoder.Load().ok());
    const auto expected = Interpreter(decoder.graph, decoder.weights).Logits(tokens);
    const std::vector<float> logits = decoder.Sequence(1, tokens, 70);
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 2e-4) << i;
  }
}

TEST(SimBackend, HoweverSubmissionsAreCutTheBitsAreTheSame) {
  const auto tokens = RandomTokens(100, 2);
  SimDecoder whole({.profile = Unwatched()}, {.limits = kUnbounded});
  ASSERT_TRUE(whole.Load().ok());
  const std::vector<float> expected = whole.Sequence(0, tokens, 40);
  for (const std::int64_t launches : {1, 2, 3, 7, 20}) {
    SimDecoder cut({.profile = Unwatched()}, {.limits = {.launches = launches}});
    ASSERT_TRUE(cut.Load().ok());
    EXPECT_EQ(cut.Sequence(0, tokens, 40), expected) << launches;
    EXPECT_LE(cut.device.statistics().most_launches, launches);
    EXPECT_GT(cut.device.statistics().submissions, whole.device.statistics().submissions);
  }
}

TEST(SimBackend, EverySubmissionKeepsToItsLimits) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> factor(1.0, 3.0);
  for (int round = 0; round < 20; ++round) {
    SimProfile profile = SmallProfile();
    profile.submission.bytes = static_cast<Bytes>(500e3 * factor(random));
    profile.submission.ms = factor(random);
    profile.submission.launches = 1 + static_cast<std::int64_t>(8 * factor(random));
    SimDecoder decoder({.profile = profile});
    ASSERT_TRUE(decoder.Load().ok());
    decoder.Sequence(0, RandomTokens(200, 9), 70);
    const SimStatistics statistics = decoder.device.statistics();
    EXPECT_LE(statistics.most_bytes, profile.submission.bytes);
    EXPECT_LE(statistics.most_launches, profile.submission.launches);
    EXPECT_LE(statistics.longest_ms, profile.submission.ms + profile.speed.submission_ms);
    EXPECT_EQ(statistics.kills, 0);
  }
}

TEST(SimBackend, WorkThatNoSubmissionCanHoldIsRefusedBeforeItIsLoaded) {
  for (const SubmissionLimits& limits :
       {SubmissionLimits{.ms = 0.02}, SubmissionLimits{.bytes = 1000}, {.launches = 0}}) {
    SimDecoder decoder({.profile = SmallProfile()}, {.limits = limits});
    const auto forecast = decoder.backend.Forecast(decoder.spec);
    ASSERT_FALSE(forecast.ok());
    EXPECT_EQ(forecast.error().code(), Code::kRefused);
    EXPECT_EQ(decoder.Load().error().message(), forecast.error().message());
    EXPECT_EQ(decoder.device.ledger().Peak(), 0);
  }
}

TEST(SimBackend, PriceIsWhatIsAllocatedOnEveryProfile) {
  std::vector<SimProfile> profiles(SimProfiles().begin(), SimProfiles().end());
  profiles.push_back(SmallProfile());
  for (const SimProfile& profile : profiles) {
    SCOPED_TRACE(profile.name);
    SimDecoder decoder({.profile = profile});
    const auto price = decoder.backend.Price(decoder.spec);
    ASSERT_TRUE(price.ok()) << price.error().message();
    ASSERT_TRUE(decoder.Load().ok());
    EXPECT_EQ(decoder.device.ledger().Of(Owner::kWeights), price->weights);
    EXPECT_EQ(decoder.device.ledger().Of(Owner::kKv), price->kv);
    EXPECT_EQ(decoder.device.ledger().Of(Owner::kArena), price->arena);
    EXPECT_EQ(decoder.device.ledger().Of(Owner::kWorkspace), price->workspace);
    EXPECT_EQ(decoder.device.ledger().Peak(), price->Total());
    EXPECT_GE(price->runtime, profile.context_bytes);
    decoder.ExpectBalance();
    decoder.program.reset();
    decoder.ExpectEmpty();
  }
}

TEST(SimBackend, RefusesCleanlyUntilTheBytesFit) {
  for (Bytes memory = 0;; memory += 4 * kKiB) {
    SimProfile profile = SmallProfile();
    profile.memory_bytes = memory;
    SimDecoder decoder({.profile = profile});
    const Bytes needed = decoder.backend.Price(decoder.spec)->Total();
    const Status status = decoder.Load();
    decoder.ExpectBalance();
    ASSERT_EQ(status.ok(), memory >= needed) << memory;
    if (status.ok()) break;
    EXPECT_EQ(status.error().code(), Code::kRefused);
    EXPECT_THAT(status.error().message(), HasSubstr("sim:small allows"));
    decoder.ExpectEmpty();
  }
}

TEST(SimBackend, RefusesCleanlyUntilTheBuffersFit) {
  std::int64_t needed = 0;
  for (std::int64_t buffers = 0;; ++buffers) {
    ASSERT_LT(buffers, 20);
    SimProfile profile = SmallProfile();
    profile.buffers = buffers;
    SimDecoder decoder({.profile = profile});
    const Status status = decoder.Load();
    decoder.ExpectBalance();
    if (status.ok()) {
      needed = buffers;
      break;
    }
    EXPECT_EQ(status.error().code(), Code::kRefused);
    EXPECT_THAT(status.error().message(), HasSubstr("one more buffer needed"));
    decoder.ExpectEmpty();
  }
  EXPECT_EQ(needed, 6) << "outside and two layers, cache, arena, workspace";
}

TEST(SimBackend, SteppingTakesNoBuffer) {
  SimDecoder decoder({.profile = SmallProfile()});
  ASSERT_TRUE(decoder.Load().ok());
  const std::int64_t buffers = decoder.device.budget().used_buffers();
  for (std::int32_t at = 0; at < 200; ++at) {
    ASSERT_TRUE(decoder.TryStep({{0, at, {7}}}).ok());
    ASSERT_EQ(decoder.device.budget().used_buffers(), buffers);
  }
  EXPECT_EQ(decoder.device.budget().status().peak_buffers, buffers);
}

TEST(SimBackend, ModelledTimeFollowsFromTheCostFunction) {
  const auto step_ms = [](double factor) {
    SimProfile profile = Unwatched();
    profile.speed.operations_per_s /= factor;
    profile.speed.bytes_per_s /= factor;
    profile.speed.copy_bytes_per_s /= factor;
    profile.speed.launch_ms *= factor;
    profile.speed.submission_ms *= factor;
    SimDecoder decoder({.profile = profile}, {.limits = kUnbounded});
    EXPECT_TRUE(decoder.Load().ok());
    const double before = decoder.device.now_ms();
    decoder.Step({{0, 0, RandomTokens(50, 3)}});
    return decoder.device.now_ms() - before;
  };
  const double ms = step_ms(1);
  EXPECT_GT(ms, 0.1);
  EXPECT_NEAR(step_ms(7), 7 * ms, 1e-9 * ms);
}

TEST(SimBackend, AForecastBoundsWhatHappens) {
  SimDecoder decoder({.profile = SmallProfile()});
  const SimForecast forecast = decoder.backend.Forecast(decoder.spec).value();
  EXPECT_FALSE(forecast.killed);
  ASSERT_TRUE(decoder.Load().ok());
  EXPECT_LE(decoder.device.statistics().longest_ms, forecast.longest_copy_ms + 0.01);
  decoder.Sequence(0, RandomTokens(kContext, 3), 70);
  EXPECT_LE(decoder.device.statistics().longest_ms,
            std::max(forecast.longest.ms, forecast.longest_copy_ms) + 0.01);
  EXPECT_LT(forecast.decode_ms, forecast.prefill_ms);

  SimDecoder unbounded({.profile = SmallProfile()}, {.limits = kUnbounded});
  EXPECT_TRUE(unbounded.backend.Forecast(unbounded.spec)->killed);
}

// A whole model's conversion in one submission, and the same in bounded ones.
TEST(SimBackend, TheWatchdogKillsAnUnboundedLoadAndNeverABoundedOne) {
  for (int round = 0; round < 200; ++round) {
    SimDecoder unbounded({.profile = SmallProfile()}, {.limits = kUnbounded});
    const Status killed = unbounded.Load();
    ASSERT_FALSE(killed.ok());
    EXPECT_EQ(killed.error().code(), Code::kUnavailable);
    EXPECT_THAT(killed.error().message(), HasSubstr("watchdog"));
    unbounded.ExpectEmpty();
    SimDecoder bounded({.profile = SmallProfile()});
    ASSERT_TRUE(bounded.Load().ok()) << round;
    ASSERT_TRUE(bounded.TryStep({{0, 0, RandomTokens(60, 1)}}).ok());
    EXPECT_EQ(bounded.device.statistics().kills, 0);
  }
}

// Loads and steps until something fails; everything is given back whatever happens.
Status LoadAndStep(SimDecoder& decoder) {
  RETURN_IF_ERROR(decoder.Load());
  for (std::int32_t at = 0; at < 3; ++at) {
    if (const auto step = decoder.TryStep({{0, at, {5}}}); !step.ok()) return step.error();
  }
  return {};
}

TEST(SimBackend, EveryFaultIsATypedErrorAndLeavesNothing) {
  for (const FaultPoint point :
       {FaultPoint::kAllocation, FaultPoint::kLaunch, FaultPoint::kCopy, FaultPoint::kCompletion}) {
    for (const FaultEffect effect : {FaultEffect::kError, FaultEffect::kHang, FaultEffect::kLost}) {
      std::int64_t n = 1;
      for (;; ++n) {
        SimDecoder decoder({.profile = SmallProfile()});
        decoder.device.Arm({point, n, effect});
        const Status status = LoadAndStep(decoder);
        decoder.ExpectBalance();
        ASSERT_EQ(status.ok(), decoder.device.faults_hit() == 0)
            << FaultPointName(point) << " " << n;
        decoder.program.reset();
        decoder.ExpectEmpty();
        if (status.ok()) break;
        const bool refused = point == FaultPoint::kAllocation && effect == FaultEffect::kError;
        EXPECT_EQ(status.error().code(), refused ? Code::kRefused : Code::kUnavailable);
      }
      EXPECT_GT(n, 5) << FaultPointName(point);
    }
  }
}

TEST(SimBackend, AfterAFaultEveryProgramOfTheDeviceSaysSo) {
  SimHost host({.profile = SmallProfile()}, {.limits = SmallProfile().submission});
  DecoderModel first(host.backend), second(host.backend);
  ASSERT_TRUE(first.Load().ok() && second.Load().ok());
  host.device.Arm({FaultPoint::kLaunch, 1, FaultEffect::kLost});
  EXPECT_THAT(first.TryStep({{0, 0, {1}}}).error().message(), HasSubstr("lost"));
  EXPECT_THAT(second.TryStep({{0, 0, {1}}}).error().message(), HasSubstr("lost"));
  EXPECT_THAT(first.TryStep({{0, 0, {1}}}).error().message(), HasSubstr("lost"));
  DecoderModel third(host.backend);
  EXPECT_THAT(third.Load().error().message(), HasSubstr("lost"));
}

// ---- Two devices --------------------------------------------------------------------------------

SimProfile SlowProfile() {
  SimProfile profile = SmallProfile();
  profile.name = "slow";
  profile.watchdog_ms = kNoWatchdog;
  profile.speed.operations_per_s /= 1000;
  profile.speed.bytes_per_s /= 1000;
  profile.submission = {};
  return profile;
}

TEST(SimBackend, AKernelBelongsToItsDevice) {
  SimDevice helper({.profile = SlowProfile(), .index = 1});
  SimDecoder decoder({.profile = SmallProfile()},
                     {.limits = SmallProfile().submission, .helper = &helper, .helper_layers = 1});
  ASSERT_TRUE(decoder.Load().ok());
  const auto kernels = static_cast<const SimProgram&>(*decoder.program).kernels();
  std::map<std::string, std::set<int>> devices_of;
  for (size_t n = 0; n < kernels.size(); ++n) {
    const int expected = decoder.graph.nodes[n].layer == 0 ? 1 : 0;
    EXPECT_EQ(kernels[n]->device.index, expected) << n;
    EXPECT_EQ(kernels[n]->speed.bytes_per_s,
              (expected == 1 ? SlowProfile() : SmallProfile()).speed.bytes_per_s);
    devices_of[kernels[n]->name].insert(kernels[n]->device.index);
  }
  EXPECT_EQ(devices_of["attention"], (std::set<int>{0, 1})) << "the same kernel on both";
  EXPECT_GT(decoder.backend.kernel_cache().size(), devices_of.size());
}

// The slow device takes far longer for its layer than the first one's watchdog allows: a kernel
// picked up under the wrong device, or a wait inside a submission, would end the step.
TEST(SimBackend, NoSubmissionWaitsForAnotherDevice) {
  const auto tokens = RandomTokens(60, 6);
  SimDecoder alone({.profile = SmallProfile()});
  ASSERT_TRUE(alone.Load().ok());
  const std::vector<float> expected = alone.Sequence(0, tokens, 30);

  SimDevice helper({.profile = SlowProfile(), .index = 1});
  SimDecoder decoder({.profile = SmallProfile()},
                     {.limits = SmallProfile().submission, .helper = &helper, .helper_layers = 1});
  ASSERT_TRUE(decoder.Load().ok());
  EXPECT_EQ(decoder.Sequence(0, tokens, 30), expected);
  EXPECT_GT(helper.statistics().longest_ms, 10 * SmallProfile().watchdog_ms);
  EXPECT_EQ(decoder.device.statistics().kills, 0);
  EXPECT_EQ(decoder.device.statistics().fences, 2) << "one a step";
  EXPECT_EQ(helper.statistics().fences, 2);
  EXPECT_GE(decoder.device.now_ms(), helper.now_ms() + SmallProfile().fence_ms);
}

}  // namespace
}  // namespace tonnage
