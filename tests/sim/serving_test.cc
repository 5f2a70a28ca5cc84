// Engines on simulated devices that fail, hang, vanish or shrink: one terminal event each, and
// nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

const LoadSettings kSettings = {
    .context_tokens = 64, .slots = 2, .slice_rows = 8, .queue = {.requests = 8, .tokens = 1000}};

class SimServing : public ::testing::Test {
 protected:
  const OpenedModel model_ = OpenModel(GoldenModel("llama_biases")).value();
};

TEST_F(SimServing, TheBufferCountIsConstant) {
  SimMachine machine(ScaledM1());
  const auto engine = machine.LoadEngine(model_, kSettings).value();
  const std::int64_t buffers = machine.device.budget().used_buffers();
  const Bytes bytes = machine.device.allocated_bytes();
  std::vector<std::int32_t> first;
  for (int round = 0; round < 30; ++round) {
    auto a = engine->Start(GreedyRequest(10, 20)).value();
    auto b = engine->Start(GreedyRequest(1 + round, 5)).value();
    auto c = engine->Start(GreedyRequest(3, 9)).value();
    const Outcome outcome = Drain(a);
    if (round == 0) first = outcome.tokens;
    EXPECT_EQ(outcome.tokens, first);
    EXPECT_EQ(Drain(c).ends + Drain(b).ends, 2);
    ASSERT_EQ(machine.device.budget().used_buffers(), buffers);
    ASSERT_EQ(machine.device.allocated_bytes(), bytes);
  }
  EXPECT_EQ(machine.device.budget().status().peak_buffers, buffers);
}

TEST_F(SimServing, WhatIsAcceptedFinishesWhileTenantsTakeEverything) {
  SimMachine machine(ScaledM1());
  const auto engine = machine.LoadEngine(model_, kSettings).value();
  std::vector<Generation> generations;
  for (int i = 0; i < 6; ++i) {
    generations.push_back(engine->Start(GreedyRequest(10 + i, 30)).value());
    machine.device.SetForeignBytes(i * ScaledM1().memory_bytes / 5);
  }
  EXPECT_EQ(machine.device.budget().limit_bytes(), 0);
  const auto refused = machine.Load(model_, kSettings);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kRefused);
  for (Generation& generation : generations) {
    const Outcome outcome = Drain(generation);
    EXPECT_EQ(outcome.done.reason, FinishReason::kLength);
    EXPECT_EQ(outcome.tokens.size(), 30u);
  }
  machine.device.SetForeignBytes(0);
  EXPECT_TRUE(machine.Load(model_, kSettings).ok());
}

// Loads and serves three requests on a device that fails as it was told. Whatever happens is typed,
// each accepted request ends once, and all memory is back. Whether the fault was met.
bool MeetsFault(const OpenedModel& model, const Fault& fault) {
  SimMachine machine(ScaledM1());
  machine.device.Arm(fault);
  {
    auto engine = machine.LoadEngine(model, kSettings);
    EXPECT_TRUE(machine.Balanced());
    if (!engine.ok()) {
      const bool refused =
          fault.point == FaultPoint::kAllocation && fault.effect == FaultEffect::kError;
      EXPECT_EQ(engine.error().code(), refused ? Code::kRefused : Code::kUnavailable);
    } else {
      std::vector<Generation> generations;
      for (int i = 0; i < 3; ++i) {
        auto generation = (*engine)->Start(GreedyRequest(4 + 7 * i, 3));
        if (generation.ok()) {
          generations.push_back(*std::move(generation));
        } else {
          EXPECT_EQ(generation.error().code(), Code::kUnavailable);
        }
      }
      for (Generation& generation : generations) {
        const Outcome outcome = Drain(generation);
        EXPECT_EQ(outcome.ends, 1);
        EXPECT_FALSE(generation.TryNext().has_value());
        if (outcome.done.reason == FinishReason::kError) {
          EXPECT_GT(machine.device.faults_hit(), 0);
          EXPECT_EQ(outcome.done.error->code(), Code::kUnavailable);
          EXPECT_THAT(outcome.done.error->message(), HasSubstr("the device failed: sim:m1"));
        } else {
          EXPECT_EQ(outcome.tokens.size(), 3u);
        }
      }
      EXPECT_EQ((*engine)->status().health.ok(), machine.device.health().ok());
      EXPECT_TRUE(machine.Balanced());
    }
  }
  EXPECT_TRUE(machine.Empty());
  return machine.device.faults_hit() > 0;
}

TEST_F(SimServing, EveryFaultEndsEveryRequestOnceAndLeavesNothing) {
  for (const FaultPoint point :
       {FaultPoint::kAllocation, FaultPoint::kLaunch, FaultPoint::kCopy, FaultPoint::kCompletion}) {
    for (const FaultEffect effect : {FaultEffect::kError, FaultEffect::kHang, FaultEffect::kLost}) {
      std::int64_t n = 1;
      while (MeetsFault(model_, {point, n, effect})) {
        ASSERT_FALSE(HasFailure()) << FaultPointName(point) << " " << n;
        ++n;
      }
      EXPECT_GT(n, 5) << FaultPointName(point) << ": faults were met";
    }
  }
}

TEST_F(SimServing, ADeviceLostUnderStreamsEndsEachOnce) {
  SimMachine machine(ScaledM1());
  LoadSettings settings = kSettings;
  settings.slots = 4;
  auto engine = machine.LoadEngine(model_, settings).value();
  std::vector<Generation> generations;
  for (int i = 0; i < 6; ++i) generations.push_back(engine->Start(GreedyRequest(5, 50)).value());
  ASSERT_TRUE(std::holds_alternative<TokenEvent>(*generations[0].Next()));
  machine.device.Arm({FaultPoint::kLaunch, 200, FaultEffect::kLost});
  for (Generation& generation : generations) {
    const Outcome outcome = Drain(generation);
    EXPECT_EQ(outcome.ends, 1);
    EXPECT_EQ(outcome.done.reason, FinishReason::kError);
    EXPECT_EQ(outcome.done.error->code(), Code::kUnavailable);
    EXPECT_THAT(outcome.done.error->message(), HasSubstr("the device was lost"));
  }
  const auto late = engine->Start(GreedyRequest(5, 5));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), Code::kUnavailable);
  engine.reset();
  EXPECT_TRUE(machine.Empty());
}

TEST_F(SimServing, AHangIsOverWhenTheWatchdogSaysSo) {
  SimMachine machine(ScaledM1());
  auto engine = machine.LoadEngine(model_, kSettings).value();
  const double before_ms = machine.device.now_ms();
  machine.device.Arm({FaultPoint::kLaunch, 1, FaultEffect::kHang});
  auto generation = engine->Start(GreedyRequest(5, 5)).value();
  const Outcome outcome = Drain(generation);
  EXPECT_EQ(outcome.ends, 1);
  EXPECT_THAT(outcome.done.error->message(), HasSubstr("hung and was ended after 5000 ms"));
  EXPECT_GE(machine.device.now_ms() - before_ms, 5000);
}

// Completions, queues and buffers in every state of a shutdown: with nothing started, with requests
// waiting, running and unread.
TEST_F(SimServing, AThousandStartsAndStopsLeaveNothing) {
  for (int cycle = 0; cycle < 1000; ++cycle) {
    SimMachine machine(ScaledM1());
    std::vector<Generation> kept;
    {
      auto engine = machine.LoadEngine(model_, kSettings).value();
      for (int i = 0; i < cycle % 5; ++i) {
        kept.push_back(engine->Start(GreedyRequest(5 + i, 40)).value());
      }
      if (cycle % 3 == 1 && !kept.empty()) kept.front().Cancel();
      if (cycle % 3 == 2 && !kept.empty()) kept.front().Next();
    }
    EXPECT_TRUE(machine.Empty()) << cycle;
    for (Generation& generation : kept) EXPECT_EQ(Drain(generation).ends, 1) << cycle;
  }
}

}  // namespace
}  // namespace tonnage
