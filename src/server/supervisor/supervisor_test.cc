#include "server/supervisor/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "server/supervisor/testing.h"

namespace tonnage {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const ModelInfo kInfo = {.architecture = "toy", .vocab = 50};
const CacheSettings kCache = {.context_tokens = 300, .slots = 2};

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : supervisor_(Options(), engine_) {}

  SupervisorOptions Options() {
    return {.name = "toy",
            .heartbeat = 10s,
            .keep_alive = 100s,
            .most_waiting = 3,
            .launch = launcher_.launcher(),
            .admit = [this] { return room_; },
            .log = [this](std::string_view line) { log_ += std::string(line) + "\n"; },
            .now = [this] { return now_; }};
  }
  // Asks for the model; what becomes of it is in loads_.
  void Ask() {
    supervisor_.Load([this](Result<Supervisor::Use> use) { loads_.push_back(std::move(use)); });
    supervisor_.Tick();
  }
  void Pass(Clock::duration time) {
    now_ += time;
    supervisor_.Tick();
  }
  void BecomeReady() {
    launcher_.last().Say(wire::Planned{{.weights = 500}, {1000, "RAM"}});
    launcher_.last().Say(wire::Ready{kInfo, kCache, {.weights = 500}});
    supervisor_.Tick();
    EXPECT_EQ(State(), RunnerState::kReady);
  }
  void Serve() {
    Ask();
    BecomeReady();
    loads_.clear();
  }
  void Die(int signal) {
    launcher_.last().Die({.signal = signal});
    supervisor_.Tick();
  }
  RunnerState State() { return supervisor_.status().state; }
  // A request that the runner has taken on.
  Result<std::vector<Generation>> Start(std::vector<std::int32_t> prompt) {
    std::optional<Result<std::vector<Generation>>> started;
    std::thread caller([&] { started = engine_.Start({.prompt = std::move(prompt)}, 1, {}); });
    std::vector<wire::Message> heard;
    while (heard.empty()) {
      supervisor_.Tick();
      EXPECT_TRUE(launcher_.last().channel->Exchange(heard).ok());
    }
    launcher_.last().Say(wire::Started{std::get<wire::Start>(heard.front()).id});
    supervisor_.Tick();
    caller.join();
    return std::move(*started);
  }
  static Error EndOf(Generation& generation) {
    const auto event = generation.TryNext();
    EXPECT_TRUE(event.has_value());
    if (!event) return Internal("no end");
    return std::get<DoneEvent>(*event).error.value_or(Internal("no error"));
  }

  Clock::time_point now_ = Clock::time_point(1000s);
  FakeLauncher launcher_;
  Result<std::optional<Available>> room_ = std::optional(Available{1000, "RAM"});
  std::string log_;
  std::vector<Result<Supervisor::Use>> loads_;
  RemoteEngine engine_{kInfo, kCache, {}};
  Supervisor supervisor_;
};

TEST_F(SupervisorTest, LoadsWhenAskedAndOnlyOnce) {
  supervisor_.Tick();
  EXPECT_TRUE(launcher_.started.empty());
  Ask();
  Ask();
  ASSERT_EQ(launcher_.started.size(), 1u);
  EXPECT_EQ(launcher_.last().share.bytes, 1000);
  EXPECT_EQ(State(), RunnerState::kLoading);
  EXPECT_TRUE(loads_.empty());
  launcher_.last().Say(wire::Progress{2048, 4096, "w"});
  supervisor_.Tick();
  EXPECT_EQ(supervisor_.status().doing, "loading, 2.0 KiB of 4.0 KiB");
  BecomeReady();
  ASSERT_EQ(loads_.size(), 2u);
  EXPECT_TRUE(loads_[0].ok() && loads_[1].ok());
  EXPECT_EQ(supervisor_.status().held_bytes, 500);
  Ask();  // at once
  EXPECT_EQ(loads_.size(), 3u);
  EXPECT_EQ(launcher_.started.size(), 1u);
}

TEST_F(SupervisorTest, WhoWaitsForALoadIsCounted) {
  for (int i = 0; i < 4; ++i) Ask();
  ASSERT_EQ(loads_.size(), 1u);
  EXPECT_EQ(loads_[0].error().code(), Code::kBusy);
  supervisor_.RefuseWaiting(Unavailable("closing"));
  EXPECT_EQ(loads_.size(), 4u);
}

TEST_F(SupervisorTest, ARefusalIsTheRunnersOwn) {
  Ask();
  launcher_.last().Say(wire::Failed{Error(Code::kRefused, "26 GiB needed")});
  launcher_.last().Die({.code = 3});
  supervisor_.Tick();
  ASSERT_EQ(loads_.size(), 1u);
  EXPECT_EQ(loads_[0].error().code(), Code::kRefused);
  EXPECT_EQ(loads_[0].error().message(), "26 GiB needed");
  EXPECT_EQ(State(), RunnerState::kAbsent);
}

TEST_F(SupervisorTest, AModelThatDiesWhileLoadingIsLeftAloneForLongerEachTime) {
  for (const auto pause : {1s, 2s, 4s, 8s}) {
    loads_.clear();
    Ask();
    Die(11);
    ASSERT_EQ(loads_.size(), 1u);
    EXPECT_THAT(loads_[0].error().message(), HasSubstr("died while loading: killed by SIGSEGV"));
    EXPECT_THAT(loads_[0].error().message(), HasSubstr("its last words"));
    EXPECT_EQ(engine_.status().retry_after, now_ + pause);
    // Meanwhile it is refused, with the seconds that are left, and nothing is started.
    const size_t started = launcher_.started.size();
    Pass(pause - 1ms);
    Ask();
    ASSERT_EQ(loads_.size(), 2u);
    EXPECT_THAT(loads_[1].error().message(), HasSubstr("It is tried again in 1 s"));
    Pass(1h);
    EXPECT_EQ(launcher_.started.size(), started) << "only when somebody asks";
  }
  Ask();
  BecomeReady();
  EXPECT_EQ(engine_.status().retry_after, std::nullopt);
}

TEST_F(SupervisorTest, ACrashEndsEveryAnswerAndTheModelIsStartedAgain) {
  Serve();
  auto one = Start({1}), two = Start({2});
  ASSERT_TRUE(one.ok() && two.ok());
  Die(9);
  for (auto* answer : {&one->front(), &two->front()}) {
    const Error error = EndOf(*answer);
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("killed by SIGKILL"));
    EXPECT_THAT(error.message(), HasSubstr("can be sent again"));
    EXPECT_THAT(error.message(), HasSubstr("its last words"));
  }
  EXPECT_EQ(engine_.status().crashes, 1);
  EXPECT_FALSE(engine_.status().health.ok());
  EXPECT_EQ(launcher_.started.size(), 2u) << "at once the first time";
  EXPECT_TRUE(launcher_.started[0]->gone);
  Ask();  // waits for it
  EXPECT_TRUE(loads_.empty());
  BecomeReady();
  EXPECT_TRUE(loads_[0].ok());
  EXPECT_TRUE(engine_.status().health.ok());
}

TEST_F(SupervisorTest, CrashesInARowArePausedBetween) {
  Serve();
  Die(9);
  BecomeReady();
  Die(9);
  EXPECT_EQ(launcher_.started.size(), 2u);
  Pass(999ms);
  EXPECT_EQ(launcher_.started.size(), 2u);
  Pass(1ms);
  EXPECT_EQ(launcher_.started.size(), 3u) << "by itself";
  // It served, so what dies now while loading is tried again by itself too, but not for ever.
  for (int i = 0; i < 30; ++i) {
    if (State() == RunnerState::kLoading) Die(9);
    Pass(300s);
  }
  const size_t started = launcher_.started.size();
  EXPECT_LT(started, 12u);
  Pass(24h);
  EXPECT_EQ(launcher_.started.size(), started);
  Ask();
  EXPECT_EQ(launcher_.started.size(), started + 1);
}

TEST_F(SupervisorTest, AGoodAnswerMakesTheNextCrashAFirst) {
  Serve();
  Die(9);
  BecomeReady();
  auto answer = Start({1});
  launcher_.last().Say(wire::Done{1, {.reason = FinishReason::kStop}});
  supervisor_.Tick();
  Die(9);
  EXPECT_EQ(launcher_.started.size(), 3u);
}

TEST_F(SupervisorTest, TheSameRequestInTwoCrashesIsRefused) {
  Serve();
  for (int i = 0; i < 2; ++i) {
    auto poison = Start({6, 6});
    ASSERT_TRUE(poison.ok());
    Die(11);
    Pass(2s);
    BecomeReady();
  }
  EXPECT_EQ(engine_.Start({.prompt = {6, 6}}, 1, {}).error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Start({7}).ok());
}

TEST_F(SupervisorTest, ARunnerThatSaysNothingIsEnded) {
  Serve();
  auto answer = Start({1});
  Pass(9s);
  launcher_.last().Say(wire::Beat{});
  supervisor_.Tick();
  Pass(9s);
  EXPECT_FALSE(launcher_.last().dumped);
  Pass(2s);
  const auto stalled = launcher_.started.back();
  EXPECT_TRUE(stalled->dumped);
  EXPECT_FALSE(stalled->killed) << "its stacks are still to be written";
  Pass(300ms);
  EXPECT_TRUE(stalled->killed);
  supervisor_.Tick();
  EXPECT_THAT(EndOf(answer->front()).message(), HasSubstr("stalled: no step for 10 s"));
  EXPECT_EQ(launcher_.started.size(), 2u);
}

TEST_F(SupervisorTest, ARunnerThatHasWorkAndDoesNotStepIsEnded) {
  Serve();
  EngineStatus status{.running = 1, .stepped_at = now_};
  for (int i = 0; i < 11; ++i) {
    EXPECT_FALSE(launcher_.last().dumped);
    launcher_.last().Say(wire::Beat{status});
    Pass(1s);
  }
  EXPECT_TRUE(launcher_.last().dumped);
}

TEST_F(SupervisorTest, ALongStepThatComputesHasTenTimesAsLong) {
  Serve();
  const auto answer = Start({1});
  EngineStatus status{.running = 1, .stepped_at = now_};
  const auto pass = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      launcher_.last().Say(wire::Beat{status});
      launcher_.last().cpu_time += 1s;
      Pass(1s);
    }
  };
  pass(99);
  EXPECT_FALSE(launcher_.last().dumped);
  pass(2);
  EXPECT_TRUE(launcher_.last().dumped);
}

TEST_F(SupervisorTest, ALoadThatStallsSaysWhere) {
  Ask();
  launcher_.last().Say(wire::Progress{1024, 2048, "model.norm"});
  Pass(9s);
  Pass(11s);
  Pass(1s);
  supervisor_.Tick();
  ASSERT_EQ(loads_.size(), 1u);
  EXPECT_THAT(
      loads_[0].error().message(),
      HasSubstr("stalled while loading: nothing for 10 s, at 1.0 KiB of 2.0 KiB, model.norm"));
}

TEST_F(SupervisorTest, ARunnerThatTalksNonsenseIsEnded) {
  Serve();
  auto answer = Start({1});
  const auto process = launcher_.started.back();
  process->Say(wire::Token{77, 1});
  supervisor_.Tick();
  EXPECT_TRUE(process->killed);
  supervisor_.Tick();
  EXPECT_THAT(EndOf(answer->front()).message(), HasSubstr("a token of an answer 77"));
}

TEST_F(SupervisorTest, OnlyAnIdleModelIsUnloaded) {
  Serve();
  Ask();
  ASSERT_EQ(loads_.size(), 1u);  // held
  supervisor_.Unload();
  supervisor_.Tick();
  EXPECT_EQ(State(), RunnerState::kReady);
  EXPECT_TRUE(supervisor_.status().working);
  launcher_.last().Say(wire::Beat{});
  Pass(200s);  // and it is not unloaded for its age
  EXPECT_EQ(State(), RunnerState::kReady);
  loads_.clear();
  EXPECT_FALSE(supervisor_.status().working);
  supervisor_.Unload();
  supervisor_.Tick();
  EXPECT_EQ(State(), RunnerState::kEnding);
  EXPECT_TRUE(engine_.status().health.ok()) << "it is ready to be loaded again";
  Ask();  // for the next
  launcher_.last().Die({.code = 0});
  supervisor_.Tick();
  EXPECT_EQ(engine_.status().crashes, 0);
  EXPECT_EQ(launcher_.started.size(), 2u);
  BecomeReady();
  EXPECT_TRUE(loads_[0].ok());
}

TEST_F(SupervisorTest, WhatNobodyUsesForItsKeepAliveIsUnloaded) {
  Serve();
  const auto beat = [&](Clock::duration time) {
    launcher_.last().Say(wire::Beat{});
    Pass(time);
  };
  for (int i = 0; i < 12; ++i) beat(8s);
  EXPECT_EQ(State(), RunnerState::kReady);
  beat(8s);
  EXPECT_EQ(State(), RunnerState::kEnding);
  Pass(2s);  // it does not end by itself
  EXPECT_TRUE(launcher_.last().killed);
  supervisor_.Tick();
  EXPECT_EQ(State(), RunnerState::kAbsent);
  EXPECT_EQ(launcher_.started.size(), 1u);
}

TEST_F(SupervisorTest, WaitsForRoomAndHearsWhenThereIsNone) {
  room_ = std::optional<Available>();
  Ask();
  EXPECT_EQ(State(), RunnerState::kWaiting);
  EXPECT_TRUE(launcher_.started.empty());
  room_ = Unavailable("others are working");
  supervisor_.Tick();
  EXPECT_EQ(loads_[0].error().message(), "others are working");
  room_ = std::optional(Available{1000, "RAM"});
  Pass(1s);
  Ask();
  EXPECT_EQ(launcher_.started.size(), 1u);
}

TEST_F(SupervisorTest, AProcessThatCannotBeStartedIsAFailedLoad) {
  launcher_.failure = Unavailable("no more processes");
  Ask();
  EXPECT_EQ(loads_[0].error().message(), "no more processes");
  EXPECT_EQ(State(), RunnerState::kAbsent);
}

}  // namespace
}  // namespace tonnage
