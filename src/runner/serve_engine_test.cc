#include "runner/serve_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/engine.h"
#include "engine/testing.h"
#include "runner/testing.h"

namespace tonnage {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The loop over a toy engine, and the other end of its socket.
class ServeEngineTest : public testing::Test {
 protected:
  ServeEngineTest() : engine_(ToyModel({.context_tokens = 4000, .slots = 1}, backend_)) {
    const auto [near, far] = MakeSocketPair();
    server_ = std::make_unique<Channel>(near);
    runner_ = std::make_unique<Channel>(far);
    loop_ = std::thread([this] { served_ = ServeEngine(engine_, *runner_, 20ms); });
  }
  ~ServeEngineTest() override {
    server_.reset();
    if (loop_.joinable()) loop_.join();
  }

  void Say(const wire::Message& message) {
    std::vector<wire::Message> heard;
    ASSERT_TRUE(server_->Send(message).ok());
    ASSERT_TRUE(server_->Exchange(heard).ok());
    heard_.insert(heard_.end(), heard.begin(), heard.end());
  }
  // All that comes until there is one of this kind.
  template <typename T>
  T Hear() {
    for (std::size_t at = 0;; ++at) {
      while (at == heard_.size()) {
        server_->Wait(1000);
        const Status exchanged = server_->Exchange(heard_);
        if (!exchanged.ok() && at == heard_.size()) {
          ADD_FAILURE() << exchanged.error().message();
          return {};
        }
      }
      if (const auto* wanted = std::get_if<T>(&heard_[at])) return *wanted;
    }
  }

  ToyBackend backend_;
  Engine engine_;
  std::unique_ptr<Channel> server_, runner_;
  std::vector<wire::Message> heard_;
  Status served_;
  std::thread loop_;
};

wire::Start Ask(std::int64_t max_tokens, std::optional<std::int64_t> logprobs = std::nullopt) {
  return {.id = 5,
          .choices = 1,
          .request = {.prompt = {1}, .max_tokens = max_tokens, .logprobs = logprobs}};
}

TEST_F(ServeEngineTest, AnAnswerIsStartedAndEndsAfterABeatThatKnowsOfIt) {
  Say(Ask(10));
  EXPECT_EQ(Hear<wire::Done>().id, 5u);
  std::vector<std::size_t> kinds;
  const wire::Beat* last_beat = nullptr;
  for (const wire::Message& message : heard_) {
    if (std::holds_alternative<wire::Done>(message)) break;
    if (const auto* beat = std::get_if<wire::Beat>(&message)) last_beat = beat;
    if (!std::holds_alternative<wire::Beat>(message)) kinds.push_back(message.index());
  }
  ASSERT_EQ(kinds.size(), 11u);
  EXPECT_EQ(kinds[0], wire::Message(wire::Started{}).index());
  ASSERT_NE(last_beat, nullptr);
  EXPECT_EQ(last_beat->status.free_slots, 1);
  EXPECT_EQ(last_beat->status.running, 0);
}

TEST_F(ServeEngineTest, BeatsComeWhileNothingIsAsked) {
  Hear<wire::Beat>();
  heard_.clear();
  EXPECT_TRUE(Hear<wire::Beat>().status.health.ok());
}

// A server that does not read holds up the socket, and no memory beyond what is quoted.
TEST_F(ServeEngineTest, WhatIsNotTakenStaysWithTheEngine) {
  Say(Ask(3000, 20));
  while (engine_.status().steps < 3000) std::this_thread::sleep_for(1ms);
  EXPECT_LT(runner_->unsent_bytes(), std::size_t{66} << 10);
  EXPECT_EQ(Hear<wire::Done>().event.usage.generated_tokens, 3000);
  std::size_t tokens = 0;
  for (const wire::Message& message : heard_) {
    tokens += std::holds_alternative<wire::Token>(message) ? 1 : 0;
  }
  EXPECT_EQ(tokens, 3000u);
}

TEST_F(ServeEngineTest, CancelsAreOfOneAnswer) {
  backend_.control().Hold();
  wire::Start two = Ask(3000);
  two.choices = 2;
  Say(two);
  Hear<wire::Started>();
  Say(wire::Cancel{99});  // of nobody
  Say(wire::Cancel{6});
  backend_.control().Resume();
  const wire::Done done = Hear<wire::Done>();
  EXPECT_EQ(done.id, 6u);
  EXPECT_EQ(done.event.reason, FinishReason::kCancelled);
}

TEST_F(ServeEngineTest, EndsWithTheServer) {
  Say(Ask(3000));
  Hear<wire::Token>();
  server_.reset();
  loop_.join();
  EXPECT_TRUE(served_.ok());
}

TEST_F(ServeEngineTest, WhatNoServerSaysEndsIt) {
  Say(wire::Ready{});
  loop_.join();
  EXPECT_THAT(served_.error().message(), HasSubstr("not for a runner"));
}

}  // namespace
}  // namespace tonnage
