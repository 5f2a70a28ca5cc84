#include "checkpoint/shards.h"

#include <gtest/gtest.h>

#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::TemporaryFolder;

TEST(Shards, ReadsTheIndexAndSkipsWhatElseItHolds) {
  auto index = ParseShardIndex(
      R"({"metadata":{"total_size":1e9,"nested":[{"weight_map":{"x":null}},[true]]},"version":2,"tags":["a"],)"
      R"("weight_map":{"b":"model-2.safetensors","a":"model-1.safetensors"},"after":{"a":"b"}})");
  ASSERT_TRUE(index.ok()) << index.error().message();
  EXPECT_EQ(*index, (ShardIndex{{"a", "model-1.safetensors"}, {"b", "model-2.safetensors"}}));
}

TEST(Shards, RefusesAMalformedIndexByName) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, const char*>>{
           {"", "malformed JSON"},
           {"[]", "an array"},
           {"3", "a number"},
           {"{}", "`weight_map` is missing"},
           {R"({"weight_map":[]})", "`weight_map` is missing"},
           {R"({"weight_map":{"x":3}})", "tensor `x`"},
           {R"({"weight_map":{"x":{}}})", "tensor `x`"},
           {R"({"weight_map":{"x":["a"]}})", "tensor `x`"},
           {R"({"weight_map":{"x":null}})", "tensor `x`"},
           {R"({"weight_map":{"x":""}})", "tensor `x`"},
           {R"({"weight_map":{"x":"../other/model.safetensors"}})", "`../other/model.safetensors`"},
           {R"({"weight_map":{"x":"/etc/passwd"}})", "`/etc/passwd`"},
           {R"({"weight_map":{"x":".."}})", "tensor `x`"},
           {R"({"weight_map":{"x":"a","x":"b"}})", "`x` is mapped twice, to `a` and to `b`"},
           {R"({"weight_map":{},"weight_map":{}})", "`weight_map` stands twice"},
           {R"({"weight_map":{"x":"mod)", "tensor `x`"},
           {"{\"weight_map\":{\"x\":\"" + std::string(2 << 20, 'm'), "token"}}) {
    SCOPED_TRACE(text.substr(0, 100));
    auto index = ParseShardIndex(text);
    ASSERT_FALSE(index.ok());
    EXPECT_NE(index.error().message().find(part), std::string::npos) << index.error().message();
  }
}

TEST(Shards, ListsTheModelFilesOfAFolder) {
  TemporaryFolder folder;
  for (const char* name :
       {"model-b.safetensors", "model.safetensors", "golden.safetensors", "model.bin"}) {
    folder.Write(name, "");
  }
  auto names = ListShards(folder.path());
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"model-b.safetensors", "model.safetensors"}));
}

TEST(Shards, NoticesAGapInTheNumbers) {
  TemporaryFolder folder;
  EXPECT_NE(ListShards(folder.path()).error().message().find("model*.safetensors"),
            std::string::npos);
  folder.Write("model-00001-of-00003.safetensors", "");
  folder.Write("model-00003-of-00003.safetensors", "");
  EXPECT_NE(ListShards(folder.path())
                .error()
                .message()
                .find("`model-00002-of-00003.safetensors` is missing"),
            std::string::npos);
  folder.Write("model-00002-of-00003.safetensors", "");
  EXPECT_TRUE(ListShards(folder.path()).ok());
  folder.Write("model-00001-of-99999.safetensors", "");
  EXPECT_FALSE(ListShards(folder.path()).ok());
  EXPECT_FALSE(ListShards(folder.path() + "/absent").ok());
}

}  // namespace
}  // namespace tonnage
