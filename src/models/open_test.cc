#include "models/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace tonnage {
namespace {

std::string OraclesFolder() {
  const char* folder = std::getenv("TONNAGE_ORACLES");
  return folder != nullptr ? folder : TONNAGE_SOURCE_DIR "/../shared/oracles";
}

// Every tensor of a checkpoint that transformers wrote has its place in our graph.
TEST(OpenModel, FindsAPlaceForEveryTensorOfTransformers) {
  const std::string models = OraclesFolder() + "/models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no checkpoints in " << models;
  for (const char* name :
       {"llama", "llama_tied", "mistral", "smollm3", "qwen2", "qwen3", "qwen3_moe"}) {
    const Result<OpenedModel> opened = OpenModel(models + "/" + name);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(opened->sources.size(), opened->model.graph.weights.size());
    EXPECT_TRUE(UnusedTensors(opened->checkpoint, opened->sources).empty()) << name;
  }
}

}  // namespace
}  // namespace tonnage
