#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/openai/call.h"

namespace tonnage::openai {
namespace {

using testing::ElementsAre;
using testing::Optional;

std::string Body(const std::string& prompt, const std::string& more = {}) {
  return R"({"model":"m","prompt":)" + prompt + (more.empty() ? "" : "," + more) + "}";
}

TEST(CompletionRequest, EveryFieldIsAcceptedOrNamed) {
  struct Case {
    std::string body;
    const char* param = nullptr;  // nullptr: accepted
  };
  const Case cases[] = {
      {Body(R"("Hi")")},
      {R"({"model":"m"})", "prompt"},
      {Body("null"), "prompt"},
      {Body("7"), "prompt"},
      {Body("[]"), "prompt"},
      {Body("[[]]"), "prompt[0]"},
      {Body("[{}]"), "prompt[0]"},
      {Body(R"(["a",[1,2],"b"])")},
      {Body("[1,2,3]")},
      {Body("[[1],[2]]")},
      {Body("[1,-2]"), "prompt"},
      {Body("[1,2.5]"), "prompt"},
      {Body(R"([1,"a"])"), "prompt"},
      {Body("[[1],[4294967296]]"), "prompt[1]"},
      {Body(R"("Hi")", R"("max_tokens":1)")},
      {Body(R"("Hi")", R"("max_tokens":0)"), "max_tokens"},
      {Body(R"("Hi")", R"("max_completion_tokens":4)"), "max_completion_tokens"},
      {Body(R"("Hi")", R"("echo":true)")},
      {Body(R"("Hi")", R"("echo":"yes")"), "echo"},
      {Body(R"("Hi")", R"("logprobs":5)")},
      {Body(R"("Hi")", R"("logprobs":true)"), "logprobs"},
      {Body(R"("Hi")", R"("logprobs":21)"), "logprobs"},
      {Body(R"("Hi")", R"("logprobs":-1)"), "logprobs"},
      {Body(R"("Hi")", R"("logprobs":1,"echo":true)"), "logprobs"},
      {Body(R"("Hi")", R"("suffix":null)")},
      {Body(R"("Hi")", R"("suffix":"end")"), "suffix"},
      {Body(R"("Hi")", R"("best_of":3,"n":2)")},
      {Body(R"("Hi")", R"("best_of":1,"n":2)"), "best_of"},
      {Body(R"("Hi")", R"("best_of":3,"n":3,"stream":true)")},
      {Body(R"("Hi")", R"("best_of":3,"stream":true)"), "best_of"},
      {Body(R"(["a","b"])", R"("n":64)")},
      {Body(R"(["a","b","c"])", R"("n":64)"), "n"},
      {Body(R"(["a","b","c"])", R"("best_of":64)"), "best_of"},
      {Body(R"("Hi")", R"("stop":["a"],"seed":1,"logit_bias":{},"user":"u")")},
      {Body(R"("Hi")", R"("temperature":3)"), "temperature"},
  };
  for (const Case& one : cases) {
    const auto call = ParseCompletion(one.body);
    if (one.param == nullptr) {
      EXPECT_TRUE(call.ok()) << one.body << "\n" << call.error().message();
      continue;
    }
    ASSERT_FALSE(call.ok()) << one.body;
    EXPECT_EQ(call.error().field(), one.param) << one.body << "\n" << call.error().message();
    EXPECT_EQ(HttpStatus(call.error().code()), 400);
  }
}

TEST(CompletionRequest, PromptsComeInFourForms) {
  const auto one = ParseCompletion(Body(R"("Hi")"));
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->prompts.size(), 1u);
  EXPECT_EQ(one->prompts[0].prompt, "Hi");
  EXPECT_TRUE(one->prompts[0].messages.is_null());
  EXPECT_EQ(one->prompts[0].max_tokens, 16);
  const auto ids = ParseCompletion(Body("[3,1]"));
  ASSERT_EQ(ids->prompts.size(), 1u);
  EXPECT_THAT(ids->prompts[0].prompt_ids, Optional(ElementsAre(3, 1)));
  const auto many = ParseCompletion(Body(R"(["a",[2]])", R"("max_tokens":3,"stop":"x")"));
  ASSERT_EQ(many->prompts.size(), 2u);
  EXPECT_EQ(many->prompts[0].prompt, "a");
  EXPECT_THAT(many->prompts[1].prompt_ids, Optional(ElementsAre(2)));
  for (const TextRequest& request : many->prompts) {
    EXPECT_EQ(request.max_tokens, 3);
    EXPECT_THAT(request.stop, ElementsAre("x"));
  }
}

TEST(CompletionRequest, TheBestAreChosenByProbabilitiesThatMayStayHidden) {
  const auto call = ParseCompletion(Body(R"("Hi")", R"("best_of":4,"n":2)"));
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->choices, 2);
  EXPECT_EQ(call->candidates, 4);
  EXPECT_FALSE(call->logprobs);
  EXPECT_EQ(call->prompts[0].logprobs, 0);
}

}  // namespace
}  // namespace tonnage::openai
