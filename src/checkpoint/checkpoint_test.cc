#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::GgufParts;
using testing::GgufTensorInfo;
using testing::MakeTensor;
using testing::TemporaryFolder;

std::string Serialize(std::span<const SafetensorsTensor> tensors) {
  std::string file = SafetensorsHeader(tensors);
  for (const auto& tensor : tensors)
    file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return file;
}

std::string OraclesFolder() {
  const char* folder = std::getenv("TONNAGE_ORACLES");
  return folder != nullptr ? folder : TONNAGE_SOURCE_DIR "/../shared/oracles";
}

TEST(Checkpoint, ReadsOneSafetensorsFileOfAFolder) {
  TemporaryFolder folder;
  const std::string ones(64, '\1');
  const std::string_view data = ones;
  const std::vector<SafetensorsTensor> tensors = {
      MakeTensor("b.weight", "BF16", {2, 4}, data.substr(0, 16)),
      MakeTensor("a.bias", "F32", {3}, data.substr(0, 12)),
      MakeTensor("ids", "I64", {1}, data.substr(0, 8))};
  folder.Write("model.safetensors", Serialize(tensors));
  folder.Write("config.json", R"({"model_type": "llama"})");
  auto checkpoint = Checkpoint::Open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  EXPECT_EQ(checkpoint->config()["model_type"], "llama");
  EXPECT_TRUE(checkpoint->generation_config().is_null());
  EXPECT_EQ(checkpoint->gguf(), nullptr);
  EXPECT_EQ(checkpoint->total_bytes(), 36);
  ASSERT_EQ(checkpoint->weights().size(), 3u);
  EXPECT_EQ(checkpoint->weights()[0].name, "a.bias");

  const WeightInfo* weight = *checkpoint->Require("b.weight");
  EXPECT_EQ(weight->format, Format::Of(FormatKind::kBF16));
  EXPECT_EQ(weight->shape, (Shape{2, 4}));
  EXPECT_EQ(weight->data.size(), 16u);
  EXPECT_EQ(weight->View().n, 2);
  EXPECT_EQ(weight->View().k, 4);
  Checkpoint::Release(*weight);
  EXPECT_EQ(weight->data[0], 1);

  EXPECT_EQ(checkpoint->Find("c"), nullptr);
  EXPECT_NE(checkpoint->Require("c").error().message().find("`c` is missing"), std::string::npos);
  EXPECT_EQ(checkpoint->Require("ids").error().code(), Code::kUnsupported);
  EXPECT_NE(checkpoint->Require("ids").error().message().find("`ids` has type I64"),
            std::string::npos);
}

TEST(Checkpoint, ReadsGgufOutermostDimensionFirst) {
  TemporaryFolder folder;
  GgufParts parts;
  parts.tensors = {GgufTensorInfo("blk.0.ffn_gate_exps.weight", {32, 2, 3}, 3, 0),
                   GgufTensorInfo("output.weight", {256, 1}, 13, 128)};
  parts.data = std::string(128 + 176, '\0');
  const std::string path = folder.Write("model.gguf", parts.Build());
  auto checkpoint = Checkpoint::Open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  const WeightInfo* experts = *checkpoint->Require("blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(experts->shape, (Shape{3, 2, 32}));
  EXPECT_EQ(experts->View().experts, 3);
  EXPECT_EQ(experts->View().n, 2);
  EXPECT_EQ(experts->View().k, 32);
  EXPECT_EQ(experts->bytes(), 120);
  EXPECT_NE(
      checkpoint->Require("output.weight").error().message().find("`output.weight` has type Q5_K"),
      std::string::npos);
}

// Every model of the oracles opens, and the bytes that its weights take are the file's.
TEST(Checkpoint, OpensTheOraclesModels) {
  const std::filesystem::path models = OraclesFolder() + "/models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << models << " is not here";
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    SCOPED_TRACE(entry.path());
    auto checkpoint = Checkpoint::Open(entry.path().string());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    EXPECT_GT(checkpoint->weights().size(), 10u);
    for (const WeightInfo& weight : checkpoint->weights()) {
      EXPECT_EQ(weight.unsupported, "");
      EXPECT_EQ(weight.bytes(), 2 * weight.shape.elements()) << weight.name;
    }
  }
}

}  // namespace
}  // namespace tonnage
