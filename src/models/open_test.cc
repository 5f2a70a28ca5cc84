#include "models/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include "models/test_checkpoint.h"
#include "models/test_configs.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

const std::string kGolden = TONNAGE_SOURCE_DIR "/tests/golden/";

// Every tensor of a checkpoint that others wrote has its place in our graph.
TEST(OpenModel, FindsAPlaceForEveryTensor) {
  for (const char* path :
       {"models/llama", "models/llama_tied", "models/mistral", "models/smollm3", "models/qwen2",
        "models/qwen3", "models/qwen3_moe", "gguf/llama.gguf", "gguf/qwen2.gguf", "gguf/qwen3.gguf",
        "gguf/qwen3_moe.gguf", "models/llama/model.safetensors"}) {
    const Result<OpenedModel> opened = OpenModel(kGolden + path);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(opened->sources.size(), opened->model.graph.weights.size());
    EXPECT_EQ(opened->Formats().size(), opened->sources.size());
    EXPECT_TRUE(UnusedTensors(opened->checkpoint, opened->sources).empty()) << path;
  }
}

TEST(OpenModel, SourcesMoveAlong) {
  Result<OpenedModel> opened = OpenModel(kGolden + "models/llama");
  ASSERT_TRUE(opened.ok());
  const OpenedModel moved = *std::move(opened);
  EXPECT_EQ(moved.sources[0].pieces[0].tensor, moved.checkpoint.Find("model.embed_tokens.weight"));
}

TEST(OpenModel, SaysWhatIsMissing) {
  EXPECT_FALSE(OpenModel("/nowhere").ok());
  TestCheckpoint tensors;
  tensors.Add("a", {1});
  const testing::TemporaryFolder folder;
  tensors.Write(folder, Json{{"model_type", "unheard-of"}});
  const auto unknown = OpenModel(folder.path());
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), Code::kUnsupported);
  EXPECT_THAT(unknown.error().message(), HasSubstr("model type `unheard-of`"));

  std::filesystem::remove(folder.path() + "/config.json");
  const auto alone = OpenModel(folder.path() + "/model.safetensors");
  ASSERT_FALSE(alone.ok());
  EXPECT_THAT(alone.error().message(), HasSubstr("no config.json stands beside it"));
}

// Whatever happens to a header, the answer is a model or an error.
TEST(OpenModel, SurvivesSpoiledHeaders) {
  std::ifstream file(kGolden + "gguf/qwen2.gguf", std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kHeaderBytes = 4096;
  ASSERT_GT(good.size(), kHeaderBytes);
  const testing::TemporaryFolder folder;
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    for (int flips = 1 + i % 3; flips > 0; --flips) {
      bad[random() % kHeaderBytes] = static_cast<char>(random());
    }
    const Result<OpenedModel> opened = OpenModel(folder.Write("bad.gguf", bad));
    if (opened.ok()) continue;
    EXPECT_FALSE(opened.error().message().empty());
    ++refused;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace tonnage
