// Every golden checkpoint through loader, CPU backend and engine: the reference implementation's
// logits and greedy ids, and the same answers however prompts are cut and whoever shares the batch.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test_host.h"

namespace tonnage {
namespace {

using Tokens = std::vector<std::int32_t>;

struct Answer {
  Tokens tokens;
  std::vector<float> logprobs;
  bool operator==(const Answer&) const = default;
};

Request GreedyRequest(Tokens prompt, std::int64_t max_tokens) {
  return {.prompt = std::move(prompt),
          .sampling = {.temperature = 0},
          .max_tokens = max_tokens,
          .logprobs = 0};
}

Answer Drain(Generation& generation) {
  Answer answer;
  while (auto event = generation.Next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) {
      answer.tokens.push_back(token->token);
      answer.logprobs.push_back(token->logprob);
    } else if (const auto& error = std::get<DoneEvent>(*event).error) {
      ADD_FAILURE() << error->message();
    }
  }
  return answer;
}

Answer Generate(Engine& engine, const Tokens& prompt, std::int64_t max_tokens) {
  auto generation = engine.Start(GreedyRequest(prompt, max_tokens));
  EXPECT_TRUE(generation.ok()) << generation.error().message();
  return Drain(*generation);
}

// Logits of every position, and what follows greedily, in exact precision.
void ExpectGolden(TestHost& host, const std::string& path, const Golden& golden) {
  const auto engine = host.LoadEngine(
      path, {.kv_dtype = DType::kF32, .precision = Precision::kExact, .logit_rows = 64});
  ASSERT_TRUE(engine.ok()) << engine.error().message();
  const auto logits = (*engine)->Evaluate(golden.input_ids);
  ASSERT_TRUE(logits.ok()) << logits.error().message();
  ASSERT_EQ(logits->size(), golden.logits.size());
  float worst = 0;
  for (size_t i = 0; i < logits->size(); ++i) {
    const float distance = std::abs((*logits)[i] - golden.logits[i]);
    ASSERT_FALSE(std::isnan(distance));
    worst = std::max(worst, distance);
  }
  EXPECT_LE(worst, 2e-3f) << path;
  testing::Test::RecordProperty("max_logit_distance", std::to_string(worst));
  const auto count = static_cast<std::int64_t>(golden.greedy_ids.size());
  EXPECT_EQ(Generate(**engine, golden.input_ids, count).tokens, golden.greedy_ids) << path;
}

class GoldenTest : public testing::TestWithParam<GoldenCheckpoint> {
 protected:
  std::unique_ptr<Engine> Load(const LoadSettings& settings) {
    auto engine = host_.LoadEngine(GetParam().path, settings);
    EXPECT_TRUE(engine.ok()) << engine.error().message();
    return engine.ok() ? std::move(*engine) : nullptr;
  }

  TestHost host_;
  const Golden golden_ = ReadGolden(kGolden + "models/" + GetParam().name);
};

TEST_P(GoldenTest, LogitsAndGreedyIdsAreTheReferences) {
  ExpectGolden(host_, GetParam().path, golden_);
}

TEST_P(GoldenTest, AnySlicingGivesTheSameAnswerToTheLastBit) {
  for (const Precision precision : {Precision::kExact, Precision::kFast}) {
    std::optional<Answer> whole;
    std::optional<std::vector<float>> whole_logits;
    for (const std::int64_t slice_rows : {64, 1, 2, 3, 7, 8, 16, 17, 33, 39, 40}) {
      const auto engine =
          Load({.precision = precision, .slice_rows = slice_rows, .logit_rows = 64});
      ASSERT_NE(engine, nullptr);
      const Answer answer = Generate(*engine, golden_.input_ids, 24);
      const auto logits = engine->Evaluate(golden_.input_ids);
      ASSERT_TRUE(logits.ok());
      if (!whole) {
        whole = answer;
        whole_logits = *logits;
      }
      EXPECT_EQ(answer, *whole) << slice_rows << " rows a slice";
      EXPECT_TRUE(std::ranges::equal(*logits, *whole_logits)) << slice_rows << " rows a slice";
    }
  }
}

TEST_P(GoldenTest, AnyCompanyGivesTheSameAnswerToTheLastBit) {
  for (const Precision precision : {Precision::kExact, Precision::kFast}) {
    const auto alone = Load({.precision = precision});
    const auto crowded = Load({.slots = 5, .precision = precision, .slice_rows = 11});
    ASSERT_TRUE(alone != nullptr && crowded != nullptr);
    std::vector<Tokens> prompts;
    std::vector<Generation> generations;
    for (std::ptrdiff_t i = 0; i < 12; ++i) {
      const auto begin = golden_.input_ids.begin();
      prompts.emplace_back(begin + i, begin + i + 3 + 5 * (i % 6));
      generations.push_back(
          crowded->Start(GreedyRequest(prompts.back(), 10 + 7 * (i % 5))).value());
    }
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto max_tokens = static_cast<std::int64_t>(10 + 7 * (i % 5));
      EXPECT_EQ(Drain(generations[i]), Generate(*alone, prompts[i], max_tokens)) << "request " << i;
    }
  }
}

// More checkpoints of the same kind, those of architectures that are supported.
TEST(OracleGoldens, LogitsAndGreedyIdsAreTheReferences) {
  const char* given = std::getenv("TONNAGE_ORACLES");
  const std::string models =
      std::string(given != nullptr ? given : TONNAGE_SOURCE_DIR "/../shared/oracles") + "/models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no goldens in " << models;
  TestHost host;
  int met = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    const std::string folder = entry.path();
    const auto opened = OpenModel(folder);
    if (!opened.ok() && opened.error().code() == Code::kUnsupported) continue;
    ExpectGolden(host, folder, ReadGolden(folder));
    ++met;
  }
  EXPECT_GT(met, 0);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::ValuesIn(GoldenCheckpoints()),
                         [](const testing::TestParamInfo<GoldenCheckpoint>& info) {
                           const bool gguf = info.param.path.ends_with(".gguf");
                           return info.param.name + (gguf ? "_gguf" : "");
                         });

}  // namespace
}  // namespace tonnage
