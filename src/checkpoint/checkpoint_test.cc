#include "checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::GgufParts;
using testing::GgufTensorInfo;
using ::testing::HasSubstr;
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
                   GgufTensorInfo("output.weight", {256, 1}, 16, 128)};
  parts.data = std::string(128 + 66, '\0');
  const std::string path = folder.Write("model.gguf", parts.Build());
  auto checkpoint = Checkpoint::Open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  const WeightInfo* experts = *checkpoint->Require("blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(experts->shape, (Shape{3, 2, 32}));
  EXPECT_EQ(experts->View().experts, 3);
  EXPECT_EQ(experts->View().n, 2);
  EXPECT_EQ(experts->View().k, 32);
  EXPECT_EQ(experts->bytes(), 120);
  EXPECT_NE(checkpoint->Require("output.weight")
                .error()
                .message()
                .find("`output.weight` has type IQ2_XXS"),
            std::string::npos);
}

// Two shards, `a` in the first and `b` in the second, with their index.
class ShardedFolder : public TemporaryFolder {
 public:
  ShardedFolder() {
    Write("config.json", "{}");
    Write("model-00001-of-00002.safetensors",
          Serialize(std::vector{MakeTensor("a", "F32", {1}, "1234")}));
    Write("model-00002-of-00002.safetensors",
          Serialize(std::vector{MakeTensor("b", "F32", {1}, "5678")}));
    WriteIndex(
        R"("a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors")");
  }
  void WriteIndex(const std::string& map) {
    Write("model.safetensors.index.json", R"({"weight_map": {)" + map + "}}");
  }
};

TEST(Checkpoint, ReadsShards) {
  ShardedFolder folder;
  for (const bool with_index : {true, false}) {
    if (!with_index) std::filesystem::remove(folder.path() + "/model.safetensors.index.json");
    auto checkpoint = Checkpoint::Open(folder.path());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    ASSERT_EQ(checkpoint->weights().size(), 2u);
    EXPECT_EQ((*checkpoint->Require("a"))->data[0], '1');
    EXPECT_EQ((*checkpoint->Require("b"))->data[0], '5');
  }
}

TEST(Checkpoint, ReadsOneFileWithoutAFolder) {
  TemporaryFolder folder;
  const std::string path =
      folder.Write("x.safetensors", Serialize(std::vector{MakeTensor("a", "F16", {1}, "12")}));
  auto checkpoint = Checkpoint::Open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  EXPECT_TRUE(checkpoint->config().is_null());
  EXPECT_NE(checkpoint->Find("a"), nullptr);
}

// A way to spoil a folder, and what the error must say.
struct Spoiled {
  const char* what;
  std::function<void(ShardedFolder&)> spoil;
  std::vector<std::string> message;
};
void ExpectRefused(const std::vector<Spoiled>& rows) {
  for (const Spoiled& row : rows) {
    SCOPED_TRACE(row.what);
    ShardedFolder folder;
    row.spoil(folder);
    auto checkpoint = Checkpoint::Open(folder.path());
    if (checkpoint.ok()) {
      ADD_FAILURE() << "was read";
      continue;
    }
    EXPECT_THAT(checkpoint.error().message(), HasSubstr(folder.path()));
    for (const std::string& part : row.message)
      EXPECT_THAT(checkpoint.error().message(), HasSubstr(part));
  }
}

void Remove(const ShardedFolder& folder, const std::string& name) {
  std::filesystem::remove(folder.path() + "/" + name);
}

TEST(Checkpoint, RefusesAFolderByWhatIsWrongInItsConfig) {
  ExpectRefused({
      {"no config",
       [&](ShardedFolder& f) { Remove(f, "config.json"); },
       {"config.json is missing"}},
      {"config is cut",
       [&](ShardedFolder& f) { f.Write("config.json", "{\"a\":"); },
       {"config.json", "JSON"}},
      {"config is empty",
       [&](ShardedFolder& f) { f.Write("config.json", ""); },
       {"config.json", "JSON"}},
      {"config is a list",
       [&](ShardedFolder& f) { f.Write("config.json", "[]"); },
       {"config.json", "an object"}},
      {"generation config is cut",
       [&](ShardedFolder& f) { f.Write("generation_config.json", "{"); },
       {"generation_config.json"}},
      {"foreign quantization",
       [&](ShardedFolder& f) {
         f.Write("config.json", R"({"quantization_config": {"quant_method": "quip"}})");
       },
       {"config.json", "`quip`"}},
      {"config is too large",
       [&](ShardedFolder& f) { f.Write("config.json", std::string(17 << 20, ' ')); },
       {"config.json", "17.0 MiB"}},
  });
}

TEST(Checkpoint, RefusesAFolderByWhatIsWrongInItsShards) {
  const std::string first = "model-00001-of-00002.safetensors",
                    second = "model-00002-of-00002.safetensors";
  const auto index = [](const std::string& map) {
    return [map](ShardedFolder& f) { f.WriteIndex(map); };
  };
  ExpectRefused({
      {"no model at all",
       [&](ShardedFolder& f) {
         Remove(f, first), Remove(f, second), Remove(f, "model.safetensors.index.json");
       },
       {"no model*.safetensors"}},
      {"missing shard",
       [&](ShardedFolder& f) { Remove(f, second); },
       {"`" + second + "` is missing", "`b`"}},
      {"shard is cut",
       [&](ShardedFolder& f) {
         const std::string path = f.path() + "/" + second;
         std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
       },
       {second, "`b` ends at byte", "cut short"}},
      {"shard is empty", [&](ShardedFolder& f) { f.Write(first, ""); }, {first, "0 bytes"}},
      {"tensor is absent from its shard",
       index("\"c\": \"" + first + "\""),
       {"`c` is missing from", first}},
      {"tensor is in the other shard",
       index("\"a\": \"" + second + "\""),
       {"`a` is in `" + first, second}},
      {"tensor in two files",
       [&](ShardedFolder& f) {
         f.Write("model-extra.safetensors",
                 Serialize(std::vector{MakeTensor("b", "F32", {1}, "5678")}));
       },
       {"`b` is in both", "model-extra.safetensors", second}},
      {"tensor mapped twice",
       index("\"a\": \"" + first + "\", \"a\": \"" + second + "\""),
       {"`a` is mapped twice"}},
      {"index points outside", index(R"("a": "../x.safetensors")"), {"`a`", "`../x.safetensors`"}},
      {"index is cut",
       [&](ShardedFolder& f) { f.Write("model.safetensors.index.json", "{"); },
       {"model.safetensors.index.json", "JSON"}},
  });
}

TEST(Checkpoint, RefusesFilesByPath) {
  TemporaryFolder folder;
  for (const auto& [path, part] : std::vector<std::pair<std::string, std::string>>{
           {folder.path() + "/absent.gguf", "no such file"},
           {folder.Write("text.gguf", "hello"), "not a GGUF file"},
           {folder.Write("text.safetensors", "hello"), "not a safetensors file"}}) {
    auto checkpoint = Checkpoint::Open(path);
    ASSERT_FALSE(checkpoint.ok());
    EXPECT_THAT(checkpoint.error().message(), HasSubstr(path));
    EXPECT_THAT(checkpoint.error().message(), HasSubstr(part));
  }
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
