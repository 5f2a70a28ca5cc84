#include "server/openai/logprobs.h"

#include <gtest/gtest.h>

#include "server/openai/testing.h"

namespace tonnage::openai {
namespace {

TEST(Logprobs, OfTokensThatLookAlikeTheLikeliestCounts) {
  ToyService service;
  const Tokenizer& tokenizer = *service.text_engine().text().tokenizer;
  const TokenId z = *tokenizer.TokenToId("z");
  const TokenDetail token{.token = z, .logprob = -2, .top = {{z, -1}, {z, -2}}};
  std::int64_t offset = 7;
  std::string out;
  AppendCompletionLogprobs(tokenizer, {&token, 1}, offset, out);
  EXPECT_EQ(out, R"({"tokens":["z"],"token_logprobs":[-2.0],"top_logprobs":[{"z":-1.0}],)"
                 R"("text_offset":[7]})");
  EXPECT_EQ(offset, 8);
}

TEST(Logprobs, TheChosenTokenIsAmongTheLikeliest) {
  ToyService service;
  const Tokenizer& tokenizer = *service.text_engine().text().tokenizer;
  const TokenDetail token{
      .token = *tokenizer.TokenToId("z"), .logprob = -2, .top = {{*tokenizer.TokenToId("a"), -1}}};
  std::int64_t offset = 0;
  std::string out;
  AppendCompletionLogprobs(tokenizer, {&token, 1}, offset, out);
  EXPECT_EQ((*ParseJson(out))["top_logprobs"][0], (Json{{"a", -1.0}, {"z", -2.0}}));
}

}  // namespace
}  // namespace tonnage::openai
