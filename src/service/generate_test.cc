#include "service/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/testing.h"
#include "service/chat_session.h"

namespace tonnage {
namespace {

using testing::HasSubstr;

// The toy engine with a tokenizer of one token a byte, so that every character beyond ASCII and
// every stop string lies across tokens.
class GenerateTest : public testing::Test {
 protected:
  GenerateTest() : engine_(ToyModel({.vocab = 256, .context_tokens = 2000, .slots = 2}, backend_)) {
    auto text = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
    EXPECT_TRUE(text.ok()) << text.error().message();
    auto made = TextEngine::Make(engine_, std::move(*text), [] { return chat::LocalTime{}; });
    EXPECT_TRUE(made.ok()) << made.error().message();
    text_engine_ = std::move(*made);
  }

  struct Outcome {
    std::string text;
    std::vector<TokenDetail> tokens;
    TextDone done;
    int events = 0;
  };
  static Outcome Drain(TextGeneration& generation) {
    Outcome outcome;
    while (auto event = generation.Next()) {
      ++outcome.events;
      if (auto* delta = std::get_if<TextDelta>(&*event)) {
        outcome.text += delta->text;
        outcome.tokens.insert(outcome.tokens.end(), delta->tokens.begin(), delta->tokens.end());
      } else {
        outcome.done = std::get<TextDone>(*event);
      }
    }
    EXPECT_FALSE(generation.Next().has_value());
    return outcome;
  }
  Outcome RunOne(const TextRequest& request) {
    auto generation = text_engine_->Start(request);
    EXPECT_TRUE(generation.ok()) << generation.error().message();
    return Drain(*generation);
  }
  static TextRequest Greedy(std::string prompt, std::int64_t max_tokens) {
    return {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = max_tokens};
  }
  // A prompt whose greedy answer of 60 tokens has no end token in it.
  TextRequest LongRequest() {
    TextRequest request = Greedy("Once upon a time", 60);
    request.ignore_end = true;
    return request;
  }
  void ExpectAllSlotsFree() { EXPECT_EQ(engine_.status().free_slots, 2); }

  ToyBackend backend_;
  Engine engine_;
  std::unique_ptr<TextEngine> text_engine_;
};

TEST_F(GenerateTest, StreamsTheTextOfTheTokens) {
  TextRequest request = LongRequest();
  request.logprobs = 2;
  const Outcome outcome = RunOne(request);
  ASSERT_EQ(outcome.tokens.size(), 60u);
  std::vector<TokenId> ids;
  for (const TokenDetail& detail : outcome.tokens) {
    ids.push_back(detail.token);
    EXPECT_EQ(detail.top.size(), 2u);
    EXPECT_EQ(detail.top[0].token, detail.token);
  }
  EXPECT_EQ(outcome.text, text_engine_->text().tokenizer->Decode(ids, true).value());
  EXPECT_EQ(outcome.done.reason, FinishReason::kLength);
  EXPECT_EQ(outcome.done.usage.prompt_tokens, 16);
  EXPECT_EQ(outcome.done.usage.generated_tokens, 60);
  EXPECT_GT(outcome.events, 20);
  EXPECT_GT(DecodeTokensPerSecond(outcome.done.usage), 0);
  EXPECT_GT(PrefillTokensPerSecond(outcome.done.usage), 0);
}

TEST_F(GenerateTest, StopStringsEndTheAnswerBeforeThem) {
  const std::string whole = RunOne(LongRequest()).text;
  for (size_t at = 1; at + 8 < whole.size(); at += 3) {
    TextRequest request = LongRequest();
    // Six bytes of the answer, wherever they begin; skipped where they cut a character.
    if ((whole[at] & 0xC0) == 0x80 || (whole[at + 6] & 0xC0) == 0x80) continue;
    request.stop = {"never this", whole.substr(at, 6)};
    request.logprobs = 0;
    const Outcome outcome = RunOne(request);
    EXPECT_EQ(outcome.text, whole.substr(0, whole.find(request.stop[1])));
    EXPECT_EQ(outcome.done.reason, FinishReason::kStop);
    EXPECT_EQ(outcome.done.usage.generated_tokens,
              static_cast<std::int64_t>(outcome.tokens.size()));
    ExpectAllSlotsFree();
  }
}

TEST_F(GenerateTest, EndTokensEndTheAnswerUnlessIgnored) {
  TextRequest request = Greedy("x", 40);
  request.sampling.logit_bias = {{2, 100}};  // </s>
  Outcome outcome = RunOne(request);
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(outcome.done.reason, FinishReason::kStop);
  EXPECT_EQ(outcome.events, 1);
  request.ignore_end = true;
  outcome = RunOne(request);
  EXPECT_EQ(outcome.text, "") << "special tokens have no text";
  EXPECT_EQ(outcome.done.reason, FinishReason::kLength);
  EXPECT_EQ(outcome.done.usage.generated_tokens, 40);
}

TEST_F(GenerateTest, RendersConversations) {
  const Json messages = Json::array({{{"role", "user"}, {"content", "Hi </s>"}}});
  EXPECT_EQ(text_engine_->Render(messages, Json::object()).value(), "<s>user: Hi </s>\nassistant:");
  EXPECT_EQ(text_engine_->Render(messages, {{"add_generation_prompt", false}}).value(),
            "<s>user: Hi </s>\n");
  EXPECT_EQ(text_engine_->Render(messages, Json::array()).error().code(), Code::kInvalidArgument);
  TextRequest request;
  request.messages = messages;
  const auto ids = text_engine_->Tokenize(request);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->front(), 1);
}

TEST_F(GenerateTest, WithoutATemplateOnlyPromptsWork) {
  auto text = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
  text->chat_templates.clear();
  const auto plain = TextEngine::Make(engine_, std::move(*text)).value();
  TextRequest request;
  request.messages = Json::array();
  EXPECT_EQ(plain->Start(request).error().code(), Code::kUnsupported);
  EXPECT_TRUE(plain->Start(Greedy("Hi", 3)).ok());
}

TEST_F(GenerateTest, BadRequestsAreRefusedBeforeTheyRun) {
  TextRequest request = Greedy("Hi", 3);
  request.stop = {""};
  EXPECT_EQ(text_engine_->Start(request).error().message(), "stop string 0 is empty");
  EXPECT_THAT(text_engine_->Start(Greedy("Hi", 5000)).error().message(),
              HasSubstr("exceed the context of 2,000"));
}

TEST_F(GenerateTest, ADeviceFaultIsTheOneLastEvent) {
  backend_.control().Allow(3);
  auto generation = text_engine_->Start(LongRequest());
  backend_.control().FailNextStep();
  backend_.control().Resume();
  const Outcome outcome = Drain(*generation);
  EXPECT_EQ(outcome.done.reason, FinishReason::kError);
  EXPECT_THAT(outcome.done.error->message(), HasSubstr("the device failed"));
}

TEST_F(GenerateTest, CancellingEndsTheAnswer) {
  TextRequest request = LongRequest();
  request.max_tokens = 1900;
  backend_.control().Allow(30);
  auto generation = text_engine_->Start(request);
  ASSERT_TRUE(generation->Next().has_value());
  generation->Cancel();
  backend_.control().Resume();
  EXPECT_EQ(Drain(*generation).done.reason, FinishReason::kCancelled);
  ExpectAllSlotsFree();
}

TEST_F(GenerateTest, ASessionRemembersWhatWasSaid) {
  ChatSession session(*text_engine_, {.sampling = {.temperature = 0}, .max_tokens = 10},
                      "Be kind.");
  std::string answer;
  const auto done = session.Ask("Who are you?", [&](std::string_view text) { answer += text; });
  ASSERT_TRUE(done.ok()) << done.error().message();
  const Json expected = Json::array({{{"role", "system"}, {"content", "Be kind."}},
                                     {{"role", "user"}, {"content", "Who are you?"}},
                                     {{"role", "assistant"}, {"content", answer}}});
  EXPECT_EQ(session.messages(), expected);

  // An error leaves the memory as it was.
  EXPECT_FALSE(session.Ask(std::string(3000, 'x'), [](std::string_view) {}).ok());
  EXPECT_EQ(session.messages(), expected);

  // What had come of a stopped answer stays.
  session.settings().max_tokens = 1500;
  session.settings().ignore_end = true;
  backend_.control().Allow(12);
  std::string part;
  const auto stopped = session.Ask("Go on", [&](std::string_view text) {
    part += text;
    session.Stop();
    backend_.control().Resume();
  });
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(stopped->reason, FinishReason::kCancelled);
  EXPECT_EQ(session.messages().size(), 5u);
  EXPECT_EQ(session.messages().back()["content"], part);

  session.Clear();
  EXPECT_EQ(session.messages().size(), 1u);
}

}  // namespace
}  // namespace tonnage
