#include "server/openai/answer_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "server/openai/testing.h"

namespace tonnage::openai {
namespace {

class AnswerWriterTest : public testing::Test {
 protected:
  std::unique_ptr<AnswerWriter> Make(const Call& call) {
    return AnswerWriter::Make(
        call, {.id = "id\"1", .created_s = 5, .model = "m\\\xff", .fingerprint = "f"}, tokenizer_);
  }
  static Call Chat(bool logprobs, bool usage = false) {
    return {.kind = Call::Kind::kChat,
            .prompts = {TextRequest()},
            .logprobs = logprobs,
            .include_usage = usage};
  }
  static Call Completion(bool logprobs) {
    return {.kind = Call::Kind::kCompletion, .prompts = {TextRequest()}, .logprobs = logprobs};
  }

  ToyService service_;
  const Tokenizer& tokenizer_ = *service_.text_engine().text().tokenizer;
};

TEST_F(AnswerWriterTest, AnEventIsOneLineOfJson) {
  std::string out;
  const auto writer = Make(Chat(false));
  writer->Delta(3, {.text = "a\n\"\xe6\x97\xa5"}, out);
  EXPECT_EQ(out,
            "data: {\"id\":\"id\\\"1\",\"object\":\"chat.completion.chunk\",\"created\":5,"
            "\"model\":\"m\\\\\xef\xbf\xbd\",\"system_fingerprint\":\"f\",\"choices\":["
            "{\"index\":3,\"delta\":{\"content\":\"a\\n\\\"\xe6\x97\xa5\"},\"logprobs\":null,"
            "\"finish_reason\":null}]}\n\n");
}

TEST_F(AnswerWriterTest, TokensWithoutTextAreNoEventUnlessTheyAreShown) {
  const TextDelta delta{.text = "", .tokens = {{.token = 5, .logprob = -1}}};
  std::string out;
  Make(Chat(false))->Delta(0, delta, out);
  EXPECT_EQ(out, "");
  Make(Chat(true))->Delta(0, delta, out);
  EXPECT_EQ(Events(out).size(), 1u);
}

TEST_F(AnswerWriterTest, WhateverTheTextEveryEventIsJson) {
  std::mt19937 random(3);
  for (const Call& call : {Chat(true, true), Completion(true)}) {
    const auto writer = Make(call);
    for (int round = 0; round < 300; ++round) {
      TextDelta delta;
      for (std::size_t n = random() % 20; n > 0; --n) delta.text += static_cast<char>(random());
      for (std::size_t n = random() % 4; n > 0; --n) {
        TokenDetail token{.token = static_cast<TokenId>(random() % 300) - 10,
                          .logprob = n == 1   ? -INFINITY
                                     : n == 2 ? NAN
                                              : -0.5f};
        token.top.assign(random() % 4,
                         {.token = static_cast<TokenId>(random() % 256), .logprob = -1e-7f});
        delta.tokens.push_back(token);
      }
      std::string out;
      writer->Open(0, delta.text, out);
      writer->Delta(0, delta, out);
      writer->Finish(0, FinishReason::kStop, out);
      writer->Usage({.prompt = 1, .completion = 2}, out);
      out += kStreamEnd;
      bool done = false;
      Events(out, &done);
      EXPECT_TRUE(done);
      const Choice choice{.text = delta.text, .tokens = delta.tokens};
      EXPECT_TRUE(ParseJson(writer->Whole({&choice, 1}, {})).ok());
    }
  }
}

TEST_F(AnswerWriterTest, OffsetsGoOnFromEventToEvent) {
  const auto writer = Make(Completion(true));
  std::string out;
  const auto token = [&](std::string_view text) {
    return TokenDetail{.token = *tokenizer_.TokenToId(text), .logprob = -1};
  };
  // The two bytes of an e with an accent, then an ASCII letter.
  writer->Delta(0, {.text = "", .tokens = {token("\u00c3")}}, out);
  writer->Delta(0, {.text = "\u00e9z", .tokens = {token("\u00a9"), token("z")}}, out);
  writer->Delta(0, {.text = "z", .tokens = {token("z")}}, out);
  const std::vector<Json> events = Events(out);
  ASSERT_EQ(events.size(), 3u);
  const auto logprobs = [&](std::size_t i) { return events[i]["choices"][0]["logprobs"]; };
  EXPECT_EQ(logprobs(0)["text_offset"], Json::array({0}));
  EXPECT_EQ(logprobs(0)["tokens"], Json::array({"bytes:\\xc3"}));
  EXPECT_EQ(logprobs(1)["text_offset"], Json::array({1, 1}));
  EXPECT_EQ(logprobs(2)["text_offset"], Json::array({2}));
}

TEST_F(AnswerWriterTest, HalfCharactersHaveTheirBytes) {
  const auto writer = Make(Chat(true));
  std::string out;
  writer->Delta(
      0, {.text = "", .tokens = {{.token = *tokenizer_.TokenToId("\u00c3"), .logprob = -INFINITY}}},
      out);
  const Json token = Events(out).at(0)["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(token["token"], "\\xc3");
  EXPECT_EQ(token["bytes"], Json::array({0xc3}));
  EXPECT_EQ(token["logprob"], -9999);
}

}  // namespace
}  // namespace tonnage::openai
