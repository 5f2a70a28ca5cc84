#include "server/supervisor/remote_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/engine.h"
#include "engine/testing.h"
#include "runner/serve_engine.h"
#include "runner/testing.h"

namespace tonnage {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Answer {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<std::size_t> alternatives;
  DoneEvent done;
};

Answer ReadAll(Generation& generation) {
  Answer answer;
  while (auto event = generation.Next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) {
      answer.tokens.push_back(token->token);
      answer.logprobs.push_back(token->logprob);
      answer.alternatives.push_back(token->top.size());
    } else {
      answer.done = std::get<DoneEvent>(*event);
    }
  }
  return answer;
}

Request Greedy(std::vector<std::int32_t> prompt, std::int64_t max_tokens) {
  return {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = max_tokens};
}

// A runner in this process: the real loop over a toy engine, on a thread of its own, and what the
// supervisor does with the other end of its socket.
class RemoteEngineTest : public testing::Test {
 protected:
  explicit RemoteEngineTest(ToySettings settings = {.slots = 2, .queue = {.requests = 4}})
      : engine_(ToyModel(settings, backend_)),
        remote_(engine_.info(), engine_.cache(), engine_.quote()) {
    Connect();
  }
  ~RemoteEngineTest() override {
    backend_.control().Resume();
    Disconnect(Unavailable("the test is over"), false);
  }

  void Connect() {
    const auto [near, far] = MakeSocketPair();
    channel_ = std::make_shared<Channel>(near);
    stop_ = false;
    runner_ = std::thread([this, far = far] {
      Channel channel(far);
      served_ = ServeEngine(engine_, channel, 20ms);
    });
    ASSERT_TRUE(
        remote_.Attach(channel_, {engine_.info(), engine_.cache(), {.weights = 7}}, 4711).ok());
    supervisor_ = std::thread([this, channel = channel_] {
      while (!stop_) {
        std::vector<wire::Message> received;
        const Status exchanged = channel->Exchange(received);
        for (wire::Message& message : received) {
          const Status taken = remote_.Take(std::move(message));
          EXPECT_TRUE(taken.ok()) << taken.error().message();
        }
        if (!exchanged.ok()) return;
        channel->Wait(1000);
      }
    });
  }
  void Disconnect(const Error& why, bool crashed) {
    if (!supervisor_.joinable()) return;
    stop_ = true;
    channel_->Wake();
    supervisor_.join();
    remote_.Detach(why, why, crashed);
    channel_.reset();
    runner_.join();
  }
  void WaitFor(const std::function<bool(const EngineStatus&)>& wanted) {
    for (int i = 0; i < 30'000 && !wanted(remote_.status()); ++i) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(wanted(remote_.status()));
  }

  ToyBackend backend_;
  Engine engine_;
  RemoteEngine remote_;
  std::shared_ptr<Channel> channel_;
  std::atomic<bool> stop_{false};
  std::thread runner_, supervisor_;
  Status served_;  // what became of the runner's loop
};

TEST_F(RemoteEngineTest, AnswersAreThoseOfTheEngine) {
  Request request = Greedy({1, 2, 3}, 20);
  request.logprobs = 3;
  Generation here = std::move(*engine_.Start(request));
  const Answer expected = ReadAll(here);
  std::atomic<int> events{0};
  auto there = remote_.Start(request, 1, [&] { ++events; });
  ASSERT_TRUE(there.ok()) << there.error().message();
  const Answer answer = ReadAll(there->front());
  EXPECT_EQ(answer.tokens, expected.tokens);
  EXPECT_EQ(answer.logprobs, expected.logprobs);
  EXPECT_EQ(answer.alternatives, std::vector<std::size_t>(20, 3));
  EXPECT_EQ(answer.done.reason, FinishReason::kLength);
  EXPECT_EQ(answer.done.usage.prompt_tokens, 3);
  EXPECT_EQ(answer.done.usage.generated_tokens, 20);
  while (events < 21) std::this_thread::yield();  // it is told just after the event is there
}

TEST_F(RemoteEngineTest, ChoicesAreAnswersOfTheirOwn) {
  Request request = Greedy({5}, 10);
  request.sampling.temperature = 1;
  request.sampling.seed = 9;
  auto one = remote_.Start(request, 2, {});
  ASSERT_TRUE(one.ok());
  const Answer first = ReadAll((*one)[0]), second = ReadAll((*one)[1]);
  EXPECT_NE(first.tokens, second.tokens);
  request.sampling.seed = 10;
  auto again = remote_.Start(request, 1, {});
  EXPECT_EQ(ReadAll(again->front()).tokens, second.tokens);
}

TEST_F(RemoteEngineTest, RefusalsAreTheEngines) {
  const auto empty = remote_.Start(Greedy({}, 5));
  EXPECT_EQ(empty.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(empty.error().message(), engine_.Start(Greedy({}, 5)).error().message());
  EXPECT_EQ(remote_.Start(Greedy({1}, 4000)).error().code(), Code::kTooLong);
  EXPECT_EQ(remote_.Start(Greedy({1}, 5), 0, {}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(remote_.Start(Greedy({1}, 5), 5, {}).error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(remote_.working());

  backend_.control().Hold();
  std::vector<Generation> held;
  for (int i = 0; i < 6; ++i) held.push_back(std::move(*remote_.Start(Greedy({1}, 5))));
  EXPECT_EQ(remote_.Start(Greedy({1}, 5)).error().code(), Code::kBusy);
  EXPECT_TRUE(remote_.working());
}

TEST_F(RemoteEngineTest, ACancelledAnswerFreesItsSlot) {
  backend_.control().Hold();
  Generation generation = std::move(*remote_.Start(Greedy({1}, 200)));
  generation.Cancel();
  Generation after =
      std::move(*remote_.Start(Greedy({2}, 1)));  // the runner has heard of it by now
  backend_.control().Resume();
  EXPECT_EQ(ReadAll(after).done.reason, FinishReason::kLength);
  EXPECT_EQ(ReadAll(generation).done.reason, FinishReason::kCancelled);
  // Whoever hears of the end finds the slot free.
  EXPECT_EQ(remote_.status().free_slots, 2);
  EXPECT_EQ(remote_.status().running, 0);
  { const Generation dropped = std::move(*remote_.Start(Greedy({1}, 200))); }
  WaitFor([](const EngineStatus& status) { return status.free_slots == 2; });
}

TEST_F(RemoteEngineTest, StatusIsTheEnginesAndTheProcesss) {
  backend_.control().Hold();
  auto generation = remote_.Start(Greedy({1}, 5));
  WaitFor([](const EngineStatus& status) { return status.running == 1; });
  EXPECT_EQ(remote_.status().process_id, 4711);
  EXPECT_TRUE(remote_.status().health.ok());
  EXPECT_EQ(remote_.quote().weights, 7);
  EXPECT_EQ(remote_.info().vocab, 50);
}

TEST_F(RemoteEngineTest, WhenTheRunnerGoesEveryAnswerEndsOnce) {
  backend_.control().Allow(3);
  std::vector<Generation> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(std::move(*remote_.Start(Greedy({1, i}, 50))));
  EXPECT_TRUE(std::holds_alternative<TokenEvent>(*answers[0].Next()));
  Disconnect(Unavailable("the runner died: killed by SIGKILL"), true);
  for (Generation& answer : answers) {
    const Answer rest = ReadAll(answer);
    EXPECT_EQ(rest.done.reason, FinishReason::kError);
    EXPECT_EQ(rest.done.error->code(), Code::kUnavailable);
    EXPECT_THAT(rest.done.error->message(), HasSubstr("SIGKILL"));
    EXPECT_FALSE(answer.Next().has_value());
  }
  EXPECT_THAT(remote_.Start(Greedy({1}, 5)).error().message(), HasSubstr("SIGKILL"));
  EXPECT_FALSE(remote_.status().health.ok());
  EXPECT_EQ(remote_.status().running, 0);
  EXPECT_EQ(remote_.status().crashes, 1);

  backend_.control().Resume();
  EXPECT_TRUE(served_.ok());
  Connect();
  EXPECT_TRUE(remote_.status().health.ok());
  Generation again = std::move(*remote_.Start(Greedy({1}, 5)));
  EXPECT_EQ(ReadAll(again).done.reason, FinishReason::kLength);
}

TEST_F(RemoteEngineTest, OnlyWhatRanInTwoSuccessiveCrashesIsRefused) {
  backend_.control().Hold();
  const auto crash = [&](std::vector<Request> requests) {
    std::vector<Generation> answers;
    for (const Request& request : requests) answers.push_back(std::move(*remote_.Start(request)));
    Disconnect(Unavailable("died"), true);
    answers.clear();
    backend_.control().Resume();  // the one engine of this test, which did not really die
    while (engine_.status().running + engine_.status().waiting > 0) std::this_thread::yield();
    backend_.control().Hold();
    Connect();
  };
  const Request poison = Greedy({6, 6, 6}, 50), other = Greedy({1}, 50), waits = Greedy({2}, 50);
  crash({other, poison, waits});  // two slots
  crash({poison, Greedy({3}, 50), waits});
  EXPECT_EQ(remote_.Start(poison).error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(remote_.Start(other).ok());
  EXPECT_TRUE(remote_.Start(waits).ok());
}

TEST_F(RemoteEngineTest, ARunnerThatMakesNoSenseIsFoundOut) {
  EXPECT_EQ(remote_.Take(wire::Token{99, 1}).error().code(), Code::kInternal);
  EXPECT_EQ(remote_.Take(wire::Done{99}).error().code(), Code::kInternal);
  EXPECT_EQ(remote_.Take(wire::Started{99}).error().code(), Code::kInternal);
  EXPECT_EQ(remote_.Take(wire::Refused{99}).error().code(), Code::kInternal);
  EXPECT_EQ(remote_.Take(wire::Cancel{1}).error().code(), Code::kInternal);
  RemoteEngine other({.architecture = {}, .vocab = 51}, engine_.cache(), {});
  EXPECT_EQ(other.Attach(channel_, {engine_.info(), engine_.cache(), {}}, 1).error().code(),
            Code::kInternal);
}

TEST_F(RemoteEngineTest, MayGoBeforeItsGenerations) {
  auto other = std::make_unique<RemoteEngine>(engine_.info(), engine_.cache(), Quote{});
  const auto [near, far] = MakeSocketPair();
  auto channel = std::make_shared<Channel>(near);
  Channel runner(far);
  ASSERT_TRUE(other->Attach(channel, {engine_.info(), engine_.cache(), {}}, 1).ok());
  std::optional<Result<Generation>> started;
  std::thread caller([&] { started = other->Start(Greedy({1}, 5)); });
  std::vector<wire::Message> received;
  while (received.empty()) {
    ASSERT_TRUE(channel->Exchange(received).ok());
    ASSERT_TRUE(runner.Exchange(received).ok());
  }
  ASSERT_TRUE(other->Take(wire::Started{std::get<wire::Start>(received[0]).id}).ok());
  caller.join();
  other.reset();
  EXPECT_EQ(ReadAll(**started).done.reason, FinishReason::kError);
}

// The runner's process is to end then, and another to be started.
TEST_F(RemoteEngineTest, AfterADeviceFaultEverybodyIsToldAndTheLoopEnds) {
  backend_.control().FailNextStep();
  Generation generation = std::move(*remote_.Start(Greedy({1}, 50)));
  const Answer answer = ReadAll(generation);
  EXPECT_EQ(answer.done.reason, FinishReason::kError);
  EXPECT_THAT(answer.done.error->message(), HasSubstr("the device failed"));
  runner_.join();
  EXPECT_THAT(served_.error().message(), HasSubstr("the device failed"));
  runner_ = std::thread([] {});
}

TEST_F(RemoteEngineTest, ARequestThatRanInTwoDeviceFaultsIsRefused) {
  RemoteEngine remote(engine_.info(), engine_.cache(), {});
  for (int crash = 0; crash < 2; ++crash) {
    const auto [near, far] = MakeSocketPair();
    auto channel = std::make_shared<Channel>(near);
    Channel runner(far);
    ASSERT_TRUE(remote.Attach(channel, {engine_.info(), engine_.cache(), {}}, 1).ok());
    std::optional<Result<Generation>> started;
    std::thread caller([&] { started = remote.Start(Greedy({6, 6}, 5)); });
    std::vector<wire::Message> received;
    while (received.empty()) {
      ASSERT_TRUE(channel->Exchange(received).ok());
      ASSERT_TRUE(runner.Exchange(received).ok());
    }
    const std::uint64_t id = std::get<wire::Start>(received[0]).id;
    const Error fault = Unavailable("the device failed");
    ASSERT_TRUE(remote.Take(wire::Started{id}).ok());
    EngineStatus failed;
    failed.health = fault;
    ASSERT_TRUE(remote.Take(wire::Beat{failed}).ok());
    DoneEvent end;
    end.reason = FinishReason::kError;
    end.error = fault;
    ASSERT_TRUE(remote.Take(wire::Done{id, end}).ok());
    caller.join();
    EXPECT_EQ(ReadAll(**started).done.error->message(), "the device failed");
    remote.Detach(Unavailable("died: exit code 5"), {}, true);
  }
  EXPECT_EQ(remote.Start(Greedy({6, 6}, 5)).error().code(), Code::kInvalidArgument);
}

// A client that reads nothing holds up nobody, and finds its answer whole.
TEST_F(RemoteEngineTest, WhatNobodyReadsIsKept) {
  Request request = Greedy({1}, 250);
  request.logprobs = 20;
  Generation unread = std::move(*remote_.Start(request));
  for (int i = 0; i < 3; ++i) {
    Generation other = std::move(*remote_.Start(Greedy({2}, 50)));
    EXPECT_EQ(ReadAll(other).tokens.size(), 50u);
  }
  const Answer answer = ReadAll(unread);
  EXPECT_EQ(answer.tokens.size(), 250u);
  EXPECT_EQ(answer.alternatives.back(), 20u);
}

}  // namespace
}  // namespace tonnage
