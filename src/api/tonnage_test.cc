#include "tonnage/tonnage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing.h"

namespace {

using testing::HasSubstr;
using tonnage::Answer;
using tonnage::FailureCode;
using tonnage::LanguageModel;

const std::string kGolden = TONNAGE_SOURCE_DIR "/tests/golden/";

// A golden checkpoint with a tokenizer of one token a byte, in `folder`.
std::string TinyModel(const std::string& folder) {
  const auto options =
      std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive;
  std::filesystem::copy(kGolden + "tiny_chat", folder, options);
  for (const char* file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(kGolden + "models/llama/" + file, folder + "/" + file, options);
  }
  return folder;
}

class ApiTest : public testing::Test {
 protected:
  const tonnage::testing::TemporaryFolder home_;
  const std::string folder_ = TinyModel(home_.path());
  tonnage::Expected<LanguageModel> model_ = LanguageModel::Load(folder_, {.threads = 2});
};

TEST_F(ApiTest, AnswersAndStreams) {
  ASSERT_TRUE(model_) << model_.failure().message;
  EXPECT_EQ(model_->architecture(), "llama");
  EXPECT_EQ(model_->vocabulary(), 256);
  EXPECT_EQ(model_->context_tokens(), 512);
  std::string streamed;
  const auto stream = [&](std::string_view text) {
    streamed += text;
    return true;
  };
  const auto answer = model_->Chat({{"user", "Hello"}}, {.max_tokens = 30, .seed = 5}, stream);
  ASSERT_TRUE(answer) << answer.failure().message;
  EXPECT_EQ(answer->text, streamed);
  EXPECT_GT(answer->generated_tokens, 0);
  EXPECT_EQ(answer->prompt_tokens, 23);  // "<s>", "user: Hello\n", "assistant:"
  EXPECT_EQ(model_->Chat({{"user", "Hello"}}, {.max_tokens = 30, .seed = 5})->text, streamed);
}

TEST_F(ApiTest, AFalseStopsTheAnswer) {
  int calls = 0;
  const auto answer = model_->Complete("Once", {.max_tokens = 400, .seed = 1},
                                       [&](std::string_view) { return ++calls < 2; });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->finish_reason, "cancelled");
  EXPECT_LT(answer->generated_tokens, 100);
}

TEST_F(ApiTest, TokensAndBack) {
  const auto tokens = model_->Tokenize("h\xC3\xA9");
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->size(), 3u);
  EXPECT_EQ(*model_->Detokenize(*tokens), "h\xC3\xA9");
  EXPECT_EQ(*model_->Detokenize({1, 2}), "");
  EXPECT_EQ(*model_->Detokenize({1, 2}, true), "<s></s>");
}

TEST_F(ApiTest, PlansWithoutLoading) {
  const auto plan = LanguageModel::Plan(folder_, {.memory_limit = "100K"});
  ASSERT_TRUE(plan) << plan.failure().message;
  ASSERT_EQ(plan->size(), 1u);
  const tonnage::PlanRow& row = plan->front();
  EXPECT_EQ(row.context_tokens, 512);
  EXPECT_EQ(row.available, 100 * 1024);
  EXPECT_GT(row.total, row.available);
  EXPECT_THAT(row.refusal, HasSubstr("allowed by memory_limit"));
  EXPECT_EQ(LanguageModel::Plan(folder_, {.context_tokens = 64})->front().context_tokens, 64);
}

TEST_F(ApiTest, FailuresSayWhatToDo) {
  const auto refused = LanguageModel::Load(folder_, {.memory_limit = "100K"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, FailureCode::kRefused);
  EXPECT_EQ(LanguageModel::Load(folder_ + "/nowhere").failure().code, FailureCode::kUnreadable);
  EXPECT_EQ(LanguageModel::Load(folder_, {.memory_limit = "lots"}).failure().code,
            FailureCode::kInvalidArgument);
  EXPECT_EQ(LanguageModel::Load(folder_, {.threads = -1}).failure().code,
            FailureCode::kInvalidArgument);
  const auto stopped = LanguageModel::Load(
      folder_, {.on_progress = [](std::int64_t done, std::int64_t) { return done == 0; }});
  EXPECT_EQ(stopped.failure().code, FailureCode::kCancelled);
  const auto too_long = model_->Complete(std::string(600, 'x'));
  EXPECT_EQ(too_long.failure().code, FailureCode::kTooLong);
  EXPECT_THAT(too_long.failure().message, HasSubstr("600 tokens, but the context is 512"));
}

}  // namespace
