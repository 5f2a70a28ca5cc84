#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "engine/allocation_counter.h"
#include "engine/testing.h"

namespace tonnage {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

Tokens MakePrompt(std::int64_t length, std::int32_t salt) {
  Tokens tokens;
  for (std::int32_t i = 0; i < length; ++i) tokens.push_back((i * i + 7 * i + salt) % 50);
  return tokens;
}

struct Outcome {
  Tokens tokens;
  DoneEvent done;
};

Outcome Drain(Generation& generation) {
  Outcome outcome;
  while (auto event = generation.Next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) {
      outcome.tokens.push_back(token->token);
    } else {
      outcome.done = std::get<DoneEvent>(*event);
    }
  }
  return outcome;
}

Outcome RunOne(Engine& engine, Request request) {
  auto generation = engine.Start(std::move(request));
  EXPECT_TRUE(generation.ok()) << generation.error().message();
  return Drain(*generation);
}

// What the toy answers greedily, computed without an engine.
Tokens Expected(Tokens prompt, std::int64_t count) {
  const size_t begin = prompt.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto logits = ToyLogits(prompt, 50);
    prompt.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
  }
  return {prompt.begin() + static_cast<std::ptrdiff_t>(begin), prompt.end()};
}

class EngineTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> Make(ToySettings settings = {}, QueueLimits queue = {}) {
    backends_.push_back(std::make_unique<ToyBackend>());
    control_ = &backends_.back()->control();
    settings.queue = queue;
    return std::make_unique<Engine>(ToyModel(settings, *backends_.back()));
  }
  static Request Greedy(Tokens prompt, std::int64_t max_tokens) {
    return {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = max_tokens};
  }
  // Waits until the engine says what `wanted` asks for.
  template <typename Wanted>
  static bool Eventually(const Engine& engine, Wanted wanted) {
    for (int i = 0; i < 5000; ++i) {
      if (wanted(engine.status())) return true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }
  static void ExpectIdle(const Engine& engine) {
    EXPECT_TRUE(Eventually(engine, [&](const EngineStatus& status) {
      return status.running == 0 && status.waiting == 0 && status.waiting_tokens == 0 &&
             status.free_slots == engine.cache().slots &&
             status.free_pages ==
                 engine.cache().slots * CeilDiv(engine.cache().context_tokens, kKvPageTokens);
    }));
  }

  std::vector<std::unique_ptr<ToyBackend>> backends_;
  ToyControl* control_ = nullptr;  // of the last engine made
};

TEST_F(EngineTest, AnySlicingGivesTheSameTokens) {
  for (std::int64_t slice_rows : {1, 2, 3, 63, 64, 65, 200}) {
    auto engine = Make({.slice_rows = slice_rows});
    for (std::int64_t length : {1, 2, 64, 65, 150}) {
      EXPECT_EQ(RunOne(*engine, Greedy(MakePrompt(length, 3), 40)).tokens,
                Expected(MakePrompt(length, 3), 40))
          << slice_rows << " rows, prompt " << length;
    }
  }
}

TEST_F(EngineTest, AnyCompanyGivesTheSameTokens) {
  auto alone = Make();
  auto crowded = Make({.slots = 3, .slice_rows = 5});
  std::vector<Generation> generations;
  std::vector<Request> requests;
  for (std::int32_t i = 0; i < 20; ++i) {
    Request request = Greedy(MakePrompt(1 + i * 11 % 120, i), 1 + i * 7 % 90);
    if (i % 2 == 1) {
      request.sampling = {.temperature = 0.8,
                          .top_k = 20,
                          .top_p = 0.9,
                          .repetition_penalty = 1.1,
                          .seed = static_cast<std::uint64_t>(i)};
    }
    requests.push_back(request);
    generations.push_back(crowded->Start(request).value());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(Drain(generations[i]).tokens, RunOne(*alone, requests[i]).tokens) << i;
  }
  ExpectIdle(*crowded);
}

TEST_F(EngineTest, EndsByLengthAndByStopToken) {
  auto engine = Make();
  const Tokens expected = Expected(MakePrompt(9, 1), 30);
  Outcome outcome = RunOne(*engine, Greedy(MakePrompt(9, 1), 30));
  EXPECT_EQ(outcome.done.reason, FinishReason::kLength);
  EXPECT_EQ(outcome.done.usage.prompt_tokens, 9);
  EXPECT_EQ(outcome.done.usage.generated_tokens, 30);
  EXPECT_GT(outcome.done.usage.decode.count(), 0);

  Request request = Greedy(MakePrompt(9, 1), 30);
  request.stop_tokens = {expected[5]};
  outcome = RunOne(*engine, request);
  const auto first = std::ranges::find(expected, expected[5]) - expected.begin();
  EXPECT_EQ(outcome.tokens, Tokens(expected.begin(), expected.begin() + first));
  EXPECT_EQ(outcome.done.reason, FinishReason::kStop);
  EXPECT_EQ(outcome.done.stop_token, expected[5]);
  EXPECT_EQ(outcome.done.usage.generated_tokens, first + 1);
}

TEST_F(EngineTest, WithoutMaxTokensTheContextIsTheLimit) {
  auto engine = Make();
  Request request = Greedy(MakePrompt(290, 1), 1);
  request.max_tokens.reset();
  EXPECT_EQ(RunOne(*engine, request).tokens.size(), 10u);
}

TEST_F(EngineTest, EveryTokenHasItsLogprobs) {
  auto engine = Make();
  Request request = Greedy(MakePrompt(9, 1), 12);
  request.logprobs = 3;
  auto generation = engine->Start(request);
  Tokens so_far = request.prompt;
  int tokens = 0;
  while (auto event = generation->Next()) {
    const auto* token = std::get_if<TokenEvent>(&*event);
    if (token == nullptr) break;
    std::vector<TokenLogprob> top(3);
    const float logprob = Logprobs(ToyLogits(so_far, 50), token->token, top);
    EXPECT_EQ(token->logprob, logprob);
    ASSERT_EQ(token->top.size(), 3u);
    EXPECT_EQ(token->top[0].token, token->token);
    EXPECT_EQ(token->top[2].logprob, top[2].logprob);
    so_far.push_back(token->token);
    ++tokens;
  }
  EXPECT_EQ(tokens, 12);
}

TEST_F(EngineTest, EvaluatesEveryPositionBesideOthers) {
  auto engine = Make({.slots = 2, .slice_rows = 7});
  auto other = engine->Start(Greedy(MakePrompt(20, 4), 200));
  const Tokens ids = MakePrompt(100, 2);
  const auto logits = engine->Evaluate(ids);
  ASSERT_TRUE(logits.ok());
  ASSERT_EQ(logits->size(), 100u * 50);
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto expected = ToyLogits(std::span(ids).first(t + 1), 50);
    ASSERT_TRUE(std::ranges::equal(std::span(*logits).subspan(t * 50, 50), expected)) << t;
  }
  EXPECT_EQ(Drain(*other).tokens, Expected(MakePrompt(20, 4), 200));
  EXPECT_EQ(engine->Evaluate({}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(engine->Evaluate(MakePrompt(301, 0)).error().code(), Code::kTooLong);
}

TEST_F(EngineTest, ImpossibleRequestsAreRefusedWithTheNumbers) {
  auto engine = Make({.context_tokens = 2000});
  Request bad_sampling = Greedy({1}, 5), bad_logprobs = Greedy({1}, 5), full = Greedy({1}, 5);
  bad_sampling.sampling.top_p = 2;
  bad_logprobs.logprobs = 21;
  full.prompt = MakePrompt(2000, 0);
  full.max_tokens.reset();
  const std::pair<Request, const char*> cases[] = {
      {Greedy({}, 5), "the prompt is empty"},
      {Greedy(MakePrompt(2001, 0), 5), "the prompt has 2,001 tokens, but the context is 2,000"},
      {Greedy(MakePrompt(1500, 0), 501),
       "max_tokens 501 + prompt 1,500 tokens exceed the context of 2,000 by 1"},
      {Greedy({1}, INT64_MAX), "exceed the context of 2,000 by 9,223,372,036,854,773,808"},
      {Greedy({1}, 0), "max_tokens is 0, but must be 1 or more"},
      {Greedy({1, 50}, 5), "token 1 of the prompt is 50, but the vocabulary has tokens 0 to 49"},
      {Greedy({-1}, 5), "token 0 of the prompt is -1"},
      {full, "the prompt's 2,000 tokens fill the context of 2,000"},
      {bad_sampling, "top_p is 2"},
      {bad_logprobs, "logprobs is 21, but must be from 0 to 20"},
  };
  for (const auto& [request, message] : cases) {
    const auto result = engine->Start(request);
    ASSERT_FALSE(result.ok()) << message;
    const bool too_long = result.error().message().find("context") != std::string::npos;
    EXPECT_EQ(result.error().code(), too_long ? Code::kTooLong : Code::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(message));
  }
}

TEST_F(EngineTest, TheQueueIsBoundedInRequestsAndTokens) {
  auto engine = Make({.slots = 1}, {.requests = 2, .tokens = 50});
  control_->Hold();
  std::vector<Generation> held;
  held.push_back(engine->Start(Greedy(MakePrompt(200, 0), 50)).value());
  ASSERT_TRUE(Eventually(*engine, [](const EngineStatus& s) { return s.running == 1; }));
  held.push_back(engine->Start(Greedy(MakePrompt(30, 1), 5)).value());
  auto busy = engine->Start(Greedy(MakePrompt(30, 2), 5));
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().code(), Code::kBusy);
  EXPECT_EQ(busy.error().message(),
            "the queue is full: 1 requests with 30 tokens wait, and 2 and 50 may");
  held.push_back(engine->Start(Greedy(MakePrompt(20, 3), 5)).value());
  EXPECT_EQ(engine->Start(Greedy({1}, 5)).error().code(), Code::kBusy);
  control_->Resume();
  EXPECT_EQ(Drain(held[0]).tokens, Expected(MakePrompt(200, 0), 50));
  EXPECT_EQ(Drain(held[1]).tokens, Expected(MakePrompt(30, 1), 5));
  EXPECT_EQ(Drain(held[2]).tokens, Expected(MakePrompt(20, 3), 5));
  ExpectIdle(*engine);
}

TEST_F(EngineTest, CancellingFreesSlotAndPagesAtTheNextStep) {
  auto engine = Make({.slots = 1});
  control_->Allow(1);
  auto running = engine->Start(Greedy(MakePrompt(10, 0), 280));
  ASSERT_TRUE(std::holds_alternative<TokenEvent>(*running->Next()));
  auto waiting = engine->Start(Greedy(MakePrompt(10, 1), 5));
  auto dropped = std::make_unique<Generation>(engine->Start(Greedy({1}, 5)).value());
  dropped.reset();
  running->Cancel();
  control_->Resume();
  const Outcome outcome = Drain(*running);
  EXPECT_EQ(outcome.done.reason, FinishReason::kCancelled);
  EXPECT_LE(outcome.tokens.size(), 1u);  // of the step that was under way
  EXPECT_EQ(Drain(*waiting).done.reason, FinishReason::kLength);
  EXPECT_FALSE(running->Next().has_value());
  ExpectIdle(*engine);
}

TEST_F(EngineTest, ACancelledRequestLeavesTheQueue) {
  auto engine = Make({.slots = 1});
  control_->Hold();
  auto running = engine->Start(Greedy(MakePrompt(10, 0), 50));
  auto waiting = engine->Start(Greedy(MakePrompt(10, 1), 5));
  waiting->Cancel();
  control_->Resume();
  const Outcome outcome = Drain(*waiting);
  EXPECT_EQ(outcome.done.reason, FinishReason::kCancelled);
  EXPECT_EQ(outcome.done.usage.generated_tokens, 0);
  EXPECT_EQ(Drain(*running).tokens.size(), 50u);
}

TEST_F(EngineTest, DeadlinesEndTheRunningAndTheWaiting) {
  auto engine = Make({.slots = 1});
  control_->Hold();
  Request late = Greedy(MakePrompt(10, 0), 280);
  late.deadline = Clock::now() + milliseconds(20);
  auto running = engine->Start(late);
  auto waiting = engine->Start(late);
  std::this_thread::sleep_for(milliseconds(25));
  control_->Resume();
  for (Generation* generation : {&*running, &*waiting}) {
    const Outcome outcome = Drain(*generation);
    EXPECT_EQ(outcome.done.reason, FinishReason::kError);
    EXPECT_EQ(outcome.done.error->code(), Code::kUnavailable);
    EXPECT_THAT(outcome.done.error->message(), HasSubstr("deadline passed"));
  }
  ExpectIdle(*engine);
}

TEST_F(EngineTest, ADeviceFaultEndsEveryRequestWithItsCause) {
  auto engine = Make({.slots = 1});
  control_->Hold();
  auto running = engine->Start(Greedy(MakePrompt(10, 0), 50));
  auto waiting = engine->Start(Greedy(MakePrompt(10, 1), 50));
  control_->FailNextStep();
  control_->Resume();
  for (Generation* generation : {&*running, &*waiting}) {
    const Outcome outcome = Drain(*generation);
    EXPECT_EQ(outcome.done.reason, FinishReason::kError);
    EXPECT_EQ(outcome.done.error->message(), "the device failed: a fault was asked for");
  }
  EXPECT_EQ(engine->Start(Greedy({1}, 1)).error().code(), Code::kUnavailable);
  EXPECT_FALSE(engine->status().health.ok());
  ExpectIdle(*engine);
}

TEST_F(EngineTest, ClosingEndsEveryGenerationOnce) {
  auto engine = Make({.context_tokens = 20000, .slots = 1});
  auto running = engine->Start(Greedy(MakePrompt(10, 0), 19900));
  auto waiting = engine->Start(Greedy(MakePrompt(10, 1), 19900));
  ASSERT_TRUE(running->Next().has_value());
  engine.reset();
  EXPECT_EQ(Drain(*running).done.error->message(), "the engine was closed");
  EXPECT_EQ(Drain(*waiting).done.error->message(), "the engine was closed");
  EXPECT_FALSE(waiting->Next().has_value());
}

TEST_F(EngineTest, StepsAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer owns malloc";
  auto engine = Make({.context_tokens = 2000, .slots = 8});
  std::vector<Generation> generations;
  for (std::int32_t i = 0; i < 8; ++i) {
    Request request = Greedy(MakePrompt(40 + i, i), 1100);
    request.logprobs = 2;
    if (i % 2 == 0) {
      request.sampling = {.temperature = 0.9,
                          .top_p = 0.9,
                          .min_p = 0.01,
                          .typical_p = 0.95,
                          .presence_penalty = 0.1,
                          .repeat_last_n = 64};
    }
    generations.push_back(engine->Start(request).value());
  }
  const auto read = [&](int tokens) {
    for (int i = 0; i < tokens; ++i) {
      for (Generation& generation : generations) {
        ASSERT_TRUE(std::holds_alternative<TokenEvent>(*generation.Next()));
      }
    }
  };
  read(10);  // all are running by now
  AllocationCount count;
  read(1000);
  EXPECT_EQ(count.Count(), 0);
}

TEST_F(EngineTest, ManyThreadsStartAndHangUp) {
  auto engine = Make({.slots = 3, .slice_rows = 9});
  std::vector<std::thread> threads;
  for (std::int32_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (std::int32_t i = 0; i < 40; ++i) {
        const Tokens prompt = MakePrompt(1 + (t * 40 + i) % 70, t);
        auto generation = engine->Start(Greedy(prompt, 30));
        ASSERT_TRUE(generation.ok());
        if (i % 3 == 0) {
          ASSERT_TRUE(generation->Next().has_value());
          continue;  // hangs up
        }
        ASSERT_EQ(Drain(*generation).tokens, Expected(prompt, 30));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectIdle(*engine);
}

}  // namespace
}  // namespace tonnage
