#include "server/supervisor/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/supervisor/testing.h"

namespace tonnage {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const ModelInfo kInfo = {.architecture = "toy", .vocab = 50};
const CacheSettings kCache = {.context_tokens = 300, .slots = 2};

// Three models that take 400 each of a budget of 1,000.
class FleetTest : public testing::Test {
 protected:
  FleetTest()
      : fleet_({.budget =
                    [this](const auto& ids) {
                      running_ids_ = ids;
                      return Available{budget_bytes_, "RAM"};
                    },
                .supervisor = {.heartbeat = 1h, .now = [this] { return now_; }}}) {
    for (int i = 0; i < 3; ++i) {
      engines_.push_back(std::make_unique<RemoteEngine>(kInfo, kCache, Quote{}));
      launchers_.push_back(std::make_unique<FakeLauncher>(100 * (i + 1)));
    }
    for (size_t i = 0; i < 3; ++i) {
      models_.push_back(&fleet_.Add(std::string(1, static_cast<char>('a' + i)), *engines_[i],
                                    launchers_[i]->launcher(),
                                    [](const Available& available) -> Result<Bytes> {
                                      if (available.bytes < 400)
                                        return Refused("400 needed, {} allowed", available.bytes);
                                      return 400;
                                    }));
    }
    uses_.resize(3, Unavailable("not asked for"));
  }

  void Ask(size_t i) {
    now_ += 1s;
    models_[i]->Load([this, i](Result<Supervisor::Use> use) { uses_[i] = std::move(use); });
    TickAll();
  }
  void Load(size_t i) {
    Ask(i);
    Bytes share = launchers_[i]->last().share.bytes;
    launchers_[i]->last().Say(wire::Planned{{.weights = 400}, {share, "RAM"}});
    launchers_[i]->last().Say(wire::Ready{kInfo, kCache, {.weights = 400}});
    TickAll();
    ASSERT_TRUE(uses_[i].ok());
  }
  void LetGo(size_t i) { uses_[i] = Unavailable("let go"); }
  void TickAll() {
    for (Supervisor* model : models_) model->Tick();
  }
  RunnerState State(size_t i) { return models_[i]->status().state; }

  Clock::time_point now_ = Clock::time_point(1000s);
  Bytes budget_bytes_ = 1000;
  std::vector<std::int64_t> running_ids_;
  std::vector<std::unique_ptr<RemoteEngine>> engines_;
  std::vector<std::unique_ptr<FakeLauncher>> launchers_;
  std::vector<Result<Supervisor::Use>> uses_;
  Fleet fleet_;
  std::vector<Supervisor*> models_;
};

TEST_F(FleetTest, WhatFitsBesideTheOthersIsLoaded) {
  Load(0);
  EXPECT_EQ(launchers_[0]->last().share.bytes, 1000);
  Load(1);
  EXPECT_EQ(launchers_[1]->last().share.bytes, 600);
  EXPECT_THAT(launchers_[1]->last().share.source, HasSubstr("RAM less 400 B of other models"));
  EXPECT_EQ(running_ids_, std::vector<std::int64_t>{100});
  EXPECT_EQ(State(0), RunnerState::kReady);
}

TEST_F(FleetTest, TheLeastRecentlyUsedMakesRoom) {
  Load(0);
  Load(1);
  LetGo(1);
  Ask(0);  // is still used when the other is not
  LetGo(0);
  TickAll();
  Ask(2);
  TickAll();
  EXPECT_EQ(State(0), RunnerState::kReady);
  EXPECT_EQ(State(1), RunnerState::kEnding);
  EXPECT_EQ(State(2), RunnerState::kWaiting);
  EXPECT_TRUE(launchers_[2]->started.empty()) << "not before the memory is there";
  TickAll();
  EXPECT_EQ(State(0), RunnerState::kReady) << "one is enough";
  launchers_[1]->last().Die({.code = 0});
  TickAll();
  TickAll();
  EXPECT_EQ(State(2), RunnerState::kLoading);
  EXPECT_EQ(launchers_[2]->last().share.bytes, 600);
}

TEST_F(FleetTest, NoModelThatWorksMakesRoom) {
  Load(0);
  Load(1);
  Ask(2);
  EXPECT_EQ(uses_[2].error().code(), Code::kUnavailable);
  EXPECT_THAT(uses_[2].error().message(), HasSubstr("models that are working: a, b"));
  EXPECT_EQ(State(0), RunnerState::kReady);
  EXPECT_EQ(State(1), RunnerState::kReady);
  LetGo(1);
  now_ += 1s;  // the pause after the refusal
  Ask(2);
  TickAll();
  EXPECT_EQ(State(1), RunnerState::kEnding);
}

TEST_F(FleetTest, WhatFitsNotEvenAloneUnloadsNobody) {
  Load(0);
  LetGo(0);
  budget_bytes_ = 300;
  Ask(1);
  EXPECT_EQ(uses_[1].error().code(), Code::kRefused);
  EXPECT_EQ(State(0), RunnerState::kReady);
}

}  // namespace
}  // namespace tonnage
