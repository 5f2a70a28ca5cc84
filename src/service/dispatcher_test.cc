#include "service/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>

#include "engine/engine.h"
#include "engine/testing.h"

namespace tonnage {
namespace {

using testing::HasSubstr;

// Keeps what it hears, and checks the order in which it comes.
class Recorder final : public TextListener {
 public:
  explicit Recorder(int choices = 1) : texts_(static_cast<size_t>(std::max(1, choices))) {}

  void OnStarted(std::span<const TokenId> prompt) override {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(prompt_tokens_, 0u);
    prompt_tokens_ = prompt.size();
  }
  void OnDelta(int choice, TextDelta delta) override {
    std::lock_guard lock(mutex_);
    EXPECT_GT(prompt_tokens_, 0u) << "a delta before the start";
    EXPECT_FALSE(done_.contains(choice)) << "a delta after the end";
    texts_.at(static_cast<size_t>(choice)) += delta.text;
    ++deltas_;
    if (throw_at_ == deltas_) throw std::runtime_error("no more");
    changed_.notify_all();
  }
  void OnDone(int choice, const TextDone& done) override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(done_.emplace(choice, done).second) << "two ends";
    changed_.notify_all();
  }
  void OnRefused(const Error& error) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(refused_ || !done_.empty() || prompt_tokens_ > 0);
    refused_ = error;
    changed_.notify_all();
  }
  bool Ready(const std::function<void()>& resume) override {
    std::lock_guard lock(mutex_);
    if (deltas_ < most_deltas_) return true;
    resume_ = resume;
    return false;
  }

  // Takes so many deltas in all.
  void Take(int deltas) {
    std::function<void()> resume;
    {
      std::lock_guard lock(mutex_);
      most_deltas_ = deltas;
      resume = std::exchange(resume_, nullptr);
    }
    if (resume) resume();
  }
  void ThrowAt(int delta) { throw_at_ = delta; }

  void WaitForEnd() {
    WaitFor([&] { return refused_.has_value() || done_.size() == texts_.size(); });
  }
  void WaitForDeltas(int count) {
    WaitFor([&] { return deltas_ >= count; });
  }
  int deltas() {
    std::lock_guard lock(mutex_);
    return deltas_;
  }
  // After the end.
  const std::string& text(size_t choice = 0) const { return texts_[choice]; }
  const TextDone& done(int choice = 0) const { return done_.at(choice); }
  const std::optional<Error>& refused() const { return refused_; }
  size_t prompt_tokens() const { return prompt_tokens_; }

 private:
  template <typename Condition>
  void WaitFor(Condition condition) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), condition));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  std::map<int, TextDone> done_;
  std::optional<Error> refused_;
  size_t prompt_tokens_ = 0;
  int deltas_ = 0;
  int most_deltas_ = INT32_MAX;
  int throw_at_ = -1;
  std::function<void()> resume_;
};

class DispatcherTest : public testing::Test {
 protected:
  explicit DispatcherTest(QueueLimits queue = {})
      : engine_(
            ToyModel({.vocab = 256, .context_tokens = 600, .slots = 3, .queue = queue}, backend_)) {
    auto text = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
    EXPECT_TRUE(text.ok()) << text.error().message();
    text->chat_templates = {{"default", "{{ raise_exception('an odd role') }}"}};
    text_engine_ =
        TextEngine::Make(engine_, std::move(*text), [] { return chat::LocalTime{}; }).value();
  }
  ~DispatcherTest() override { backend_.control().Resume(); }

  static TextRequest Greedy(std::string prompt, std::int64_t max_tokens) {
    return {.prompt = std::move(prompt),
            .sampling = {.temperature = 0},
            .max_tokens = max_tokens,
            .ignore_end = true};
  }
  std::string Alone(const TextRequest& request) {
    auto generation = text_engine_->Start(request);
    EXPECT_TRUE(generation.ok()) << generation.error().message();
    std::string text;
    while (auto event = generation->Next()) {
      if (const auto* delta = std::get_if<TextDelta>(&*event)) text += delta->text;
    }
    return text;
  }
  std::shared_ptr<Recorder> Submit(Dispatcher& dispatcher, const TextRequest& request,
                                   int choices = 1) {
    auto recorder = std::make_shared<Recorder>(choices);
    call_ = dispatcher.Submit(text_engine_, request, choices, recorder);
    return recorder;
  }
  void ExpectAllSlotsFree() {
    EXPECT_EQ(engine_.status().free_slots, 3);
    EXPECT_EQ(engine_.status().waiting, 0);
  }

  ToyBackend backend_;
  Engine engine_;
  std::shared_ptr<TextEngine> text_engine_;
  TextCall call_;  // of the last Submit
};

TEST_F(DispatcherTest, ManyRequestsEachGetTheirOwnAnswer) {
  Dispatcher dispatcher;
  std::vector<TextRequest> requests;
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    requests.push_back(Greedy("question " + std::to_string(i), 10 + 3 * i));
    expected.push_back(Alone(requests.back()));
  }
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (const TextRequest& request : requests) recorders.push_back(Submit(dispatcher, request));
  for (size_t i = 0; i < recorders.size(); ++i) {
    recorders[i]->WaitForEnd();
    ASSERT_FALSE(recorders[i]->refused()) << recorders[i]->refused()->message();
    EXPECT_EQ(recorders[i]->text(), expected[i]);
    EXPECT_EQ(recorders[i]->done().reason, FinishReason::kLength);
    EXPECT_EQ(recorders[i]->prompt_tokens(), requests[i].prompt.size());
  }
  ExpectAllSlotsFree();
}

TEST_F(DispatcherTest, ChoicesHaveTheSeedsThatFollow) {
  Dispatcher dispatcher;
  TextRequest request = Greedy("Tell me", 30);
  request.sampling = {.temperature = 2, .seed = 7};
  const auto recorder = Submit(dispatcher, request, 5);
  recorder->WaitForEnd();
  for (std::uint64_t choice = 0; choice < 5; ++choice) {
    request.sampling.seed = 7 + choice;
    EXPECT_EQ(recorder->text(choice), Alone(request));
  }
  EXPECT_NE(recorder->text(0), recorder->text(1));
}

TEST_F(DispatcherTest, PromptsMayBeTokenIds) {
  Dispatcher dispatcher;
  TextRequest request = Greedy("abc", 20);
  const std::string expected = Alone(request);
  request.prompt_ids = text_engine_->Tokenize(request).value();
  request.prompt = "not this";
  const auto recorder = Submit(dispatcher, request);
  recorder->WaitForEnd();
  EXPECT_EQ(recorder->text(), expected);
}

TEST_F(DispatcherTest, WhatCannotRunIsRefusedOnce) {
  Dispatcher dispatcher;
  const auto refusal = [&](const TextRequest& request, int choices) {
    const auto recorder = Submit(dispatcher, request, choices);
    recorder->WaitForEnd();
    return recorder->refused().value();
  };
  EXPECT_EQ(refusal(Greedy(std::string(601, 'x'), 5), 1).code(), Code::kTooLong);
  EXPECT_THAT(refusal(Greedy(std::string(601, 'x'), 5), 1).message(),
              HasSubstr("601 tokens, but the context is 600"));
  EXPECT_EQ(refusal(Greedy("", 5), 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(Greedy("x", 5), 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(Greedy("x", 5), 257).code(), Code::kInvalidArgument);
  TextRequest messages = Greedy("", 5);
  messages.messages = Json::array();
  messages.template_variables = Json::array();
  EXPECT_EQ(refusal(messages, 1).code(), Code::kInvalidArgument);
}

TEST_F(DispatcherTest, CancellingFreesTheSlotAtTheNextStep) {
  Dispatcher dispatcher;
  backend_.control().Allow(5);
  const auto recorder = Submit(dispatcher, Greedy("Go on", 500));
  const TextCall call = call_;
  recorder->WaitForDeltas(1);
  call.Cancel();
  const int deltas = recorder->deltas();
  backend_.control().Allow(5);
  recorder->WaitForEnd();
  EXPECT_EQ(recorder->done().reason, FinishReason::kCancelled);
  EXPECT_LE(recorder->deltas(), deltas + 1);
  ExpectAllSlotsFree();
  call.Cancel();  // does nothing any more
}

TEST_F(DispatcherTest, ASlowListenerHoldsNobodyUpAndLosesNothing) {
  Dispatcher dispatcher;
  const std::string expected = Alone(Greedy("slow", 200));
  auto slow = std::make_shared<Recorder>();
  slow->Take(3);
  dispatcher.Submit(text_engine_, Greedy("slow", 200), 1, slow);
  slow->WaitForDeltas(3);
  for (int i = 0; i < 10; ++i) {
    const auto quick = Submit(dispatcher, Greedy("quick", 30));
    quick->WaitForEnd();
    EXPECT_EQ(quick->text(), Alone(Greedy("quick", 30)));
  }
  EXPECT_EQ(slow->deltas(), 3);
  for (int deltas = 4; deltas < 20; ++deltas) {
    slow->Take(deltas);
    slow->WaitForDeltas(deltas);
  }
  slow->Take(INT32_MAX);
  slow->WaitForEnd();
  EXPECT_EQ(slow->text(), expected);
}

TEST_F(DispatcherTest, ACancelledSlowListenerStillHasItsEnd) {
  Dispatcher dispatcher;
  auto slow = std::make_shared<Recorder>();
  slow->Take(2);
  const TextCall call = dispatcher.Submit(text_engine_, Greedy("slow", 500), 1, slow);
  slow->WaitForDeltas(2);
  call.Cancel();
  slow->WaitForEnd();
  EXPECT_EQ(slow->deltas(), 2);
  ExpectAllSlotsFree();
}

TEST_F(DispatcherTest, AListenerThatThrowsLosesItsSlotAndNothingElse) {
  Dispatcher dispatcher;
  for (int at = 1; at < 6; ++at) {
    auto thrower = std::make_shared<Recorder>();
    thrower->ThrowAt(at);
    dispatcher.Submit(text_engine_, Greedy("throw", 500), 1, thrower);
    thrower->WaitForEnd();
    EXPECT_EQ(thrower->done().reason, FinishReason::kError);
    EXPECT_EQ(thrower->done().error->message(), "no more");
  }
  const auto recorder = Submit(dispatcher, Greedy("after", 20), 3);
  recorder->WaitForEnd();
  EXPECT_EQ(recorder->text(2), Alone(Greedy("after", 20)));
  ExpectAllSlotsFree();
}

// Throws at one stage of its answer, and tells when the answer is over.
class Thrower final : public TextListener {
 public:
  enum class Stage { kStarted, kDelta, kDone };
  explicit Thrower(Stage stage) : stage_(stage) {}

  void OnStarted(std::span<const TokenId>) override { ThrowAt(Stage::kStarted); }
  void OnDelta(int, TextDelta) override { ThrowAt(Stage::kDelta); }
  void OnDone(int, const TextDone&) override {
    over_.set_value();  // a second end would throw here and fail the test
    ThrowAt(Stage::kDone);
  }
  void OnRefused(const Error&) override { over_.set_value(); }
  bool Ready(const std::function<void()>&) override { return true; }
  void WaitForEnd() {
    ASSERT_EQ(over_.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  }

 private:
  void ThrowAt(Stage stage) const {
    if (stage == stage_) throw std::runtime_error("no more");
  }

  const Stage stage_;
  std::promise<void> over_;
};

// More of each than there are slots: one that was not given back would block whatever comes after.
TEST_F(DispatcherTest, AFailureAtAnyStageGivesEverythingBack) {
  Dispatcher dispatcher;
  TextRequest raises = Greedy("", 5);
  raises.messages = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  TextRequest no_token = Greedy("", 5);
  no_token.prompt_ids = {1 << 30};
  for (int round = 0; round < 5; ++round) {
    for (const TextRequest& bad : {raises, no_token, Greedy("too long", 5000)}) {
      const auto recorder = Submit(dispatcher, bad);
      recorder->WaitForEnd();
      EXPECT_TRUE(recorder->refused().has_value());
    }
    for (const auto stage :
         {Thrower::Stage::kStarted, Thrower::Stage::kDelta, Thrower::Stage::kDone}) {
      const auto thrower = std::make_shared<Thrower>(stage);
      dispatcher.Submit(text_engine_, Greedy("throw", 20), 1, thrower);
      thrower->WaitForEnd();
    }
  }
  const auto recorder = Submit(dispatcher, Greedy("after", 20), 3);
  recorder->WaitForEnd();
  EXPECT_EQ(recorder->text(2), Alone(Greedy("after", 20)));
  ExpectAllSlotsFree();
}

TEST_F(DispatcherTest, EndAllGivesEverybodyTheError) {
  Dispatcher dispatcher;
  backend_.control().Allow(6);
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int i = 0; i < 12; ++i) recorders.push_back(Submit(dispatcher, Greedy("Go on", 500)));
  recorders[0]->WaitForDeltas(1);
  dispatcher.EndAll(Unavailable("closing time"));
  recorders.push_back(Submit(dispatcher, Greedy("Too late", 5)));
  EXPECT_EQ(recorders.back()->refused().value().message(), "closing time");
  backend_.control().Resume();
  for (const auto& recorder : recorders) {
    recorder->WaitForEnd();
    const Error& error = recorder->refused() ? *recorder->refused() : *recorder->done().error;
    EXPECT_EQ(error.message(), "closing time");
  }
  ExpectAllSlotsFree();
}

TEST_F(DispatcherTest, DestroyingItEndsEverything) {
  std::vector<std::shared_ptr<Recorder>> recorders;
  {
    Dispatcher dispatcher;
    for (int i = 0; i < 12; ++i) recorders.push_back(Submit(dispatcher, Greedy("Go on", 500)));
    recorders[0]->WaitForDeltas(1);
  }
  for (const auto& recorder : recorders) recorder->WaitForEnd();
  ExpectAllSlotsFree();
}

TEST_F(DispatcherTest, TheQueueOfWhatIsNotStartedIsBounded) {
  Dispatcher dispatcher({.queue_requests = 4, .queue_bytes = 1 << 20});
  // The one starter is busy with a listener that does not come back.
  class Blocker final : public TextListener {
   public:
    void OnStarted(std::span<const TokenId>) override {
      entered.set_value();
      go.get_future().wait();
    }
    void OnDelta(int, TextDelta) override {}
    void OnDone(int, const TextDone&) override { done.set_value(); }
    void OnRefused(const Error&) override {}
    bool Ready(const std::function<void()>&) override { return true; }
    std::promise<void> entered, go, done;
  };
  auto blocker = std::make_shared<Blocker>();
  dispatcher.Submit(text_engine_, Greedy("x", 3), 1, blocker);
  blocker->entered.get_future().wait();
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int i = 0; i < 3; ++i) recorders.push_back(Submit(dispatcher, Greedy("wait", 5)));
  const auto large = Submit(dispatcher, Greedy(std::string(1 << 20, 'x'), 5));
  EXPECT_EQ(large->refused().value().code(), Code::kBusy);
  recorders.push_back(Submit(dispatcher, Greedy("wait", 5)));
  const auto one_more = Submit(dispatcher, Greedy("wait", 5));
  EXPECT_EQ(one_more->refused().value().code(), Code::kBusy);
  EXPECT_THAT(one_more->refused()->message(), HasSubstr("the queue is full: 4 requests"));
  blocker->go.set_value();
  for (const auto& recorder : recorders) {
    recorder->WaitForEnd();
    EXPECT_EQ(recorder->done().reason, FinishReason::kLength);
  }
  blocker->done.get_future().wait();
}

class SmallQueueTest : public DispatcherTest {
 protected:
  SmallQueueTest() : DispatcherTest({.requests = 2, .tokens = 1000}) {}
};

TEST_F(SmallQueueTest, AllChoicesAreAcceptedOrNone) {
  Dispatcher dispatcher;
  backend_.control().Hold();
  const auto running = Submit(dispatcher, Greedy("run", 5), 3);
  const auto waiting = Submit(dispatcher, Greedy("wait", 5), 1);
  const auto too_many = Submit(dispatcher, Greedy("wait", 5), 2);
  too_many->WaitForEnd();
  EXPECT_EQ(too_many->refused().value().code(), Code::kBusy);
  EXPECT_EQ(RetryAfterSeconds(engine_), 1);
  const auto fits = Submit(dispatcher, Greedy("wait", 5), 1);
  backend_.control().Resume();
  for (const auto& recorder : {running, waiting, fits}) {
    recorder->WaitForEnd();
    EXPECT_FALSE(recorder->refused());
  }
  EXPECT_GT(engine_.status().mean_run.count(), 0);
}

class Counter final : public TextObserver {
 public:
  void OnTokens(bool first, std::int64_t tokens, Clock::duration since) override {
    firsts += first ? 1 : 0;
    tokens_read += tokens;
    EXPECT_GE(since.count(), 0);
  }
  void OnDone(const TextDone&, Clock::duration) override { ++ends; }
  void OnRefused(const Error&) override { ++refusals; }
  std::atomic<std::int64_t> firsts{0}, tokens_read{0}, ends{0}, refusals{0};
};

TEST_F(DispatcherTest, TheObserverHearsOfEveryToken) {
  auto counter = std::make_shared<Counter>();
  {
    Dispatcher dispatcher({.observer = counter});
    Submit(dispatcher, Greedy("one", 50))->WaitForEnd();
    Submit(dispatcher, Greedy("two", 30), 2)->WaitForEnd();
    Submit(dispatcher, Greedy("", 30))->WaitForEnd();
  }
  EXPECT_EQ(counter->firsts, 3);
  EXPECT_EQ(counter->tokens_read, 110);
  EXPECT_EQ(counter->ends, 3);
  EXPECT_EQ(counter->refusals, 1);
}

// A model whose process is to be started again.
class AbsentEngine final : public TokenEngine {
 public:
  explicit AbsentEngine(Clock::time_point retry_after) { status_.retry_after = retry_after; }
  Result<std::vector<Generation>> Start(Request, int, std::function<void()>) override {
    return Unavailable("it is gone");
  }
  const ModelInfo& info() const override { return info_; }
  const CacheSettings& cache() const override { return cache_; }
  Quote quote() const override { return {}; }
  EngineStatus status() const override { return status_; }

 private:
  const ModelInfo info_ = {};
  const CacheSettings cache_ = {};
  EngineStatus status_;
};

TEST(RetryAfter, IsWhenTheProcessIsStartedAgain) {
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(RetryAfterSeconds(AbsentEngine(now - std::chrono::seconds(5))), 1);
  EXPECT_EQ(RetryAfterSeconds(AbsentEngine(now + std::chrono::hours(1))), 600);
  const std::int64_t seconds = RetryAfterSeconds(AbsentEngine(now + std::chrono::seconds(100)));
  EXPECT_GT(seconds, 10);
  EXPECT_LE(seconds, 100);
}

}  // namespace
}  // namespace tonnage
