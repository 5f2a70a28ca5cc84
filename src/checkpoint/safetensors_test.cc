#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <chrono>

#include "checkpoint/mapped_file.h"
#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::AsBytes;
using testing::MakeTensor;
using testing::SafetensorsFile;
using testing::TemporaryFolder;

TEST(Safetensors, ReadsNamesShapesAndBytes) {
  const std::string file = SafetensorsFile(
      R"({"__metadata__":{"format":"pt","b":"2"},"w":{"shape":[2,1],"data_offsets":[3,7],"dtype":"BF16"},)"
      R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"none":{"dtype":"F32","shape":[0,4],"data_offsets":[3,3]},)"
      R"("one":{"dtype":"F64","shape":[],"data_offsets":[7,15]}}    )",
      "abcdefg12345678");
  auto parsed = ParseSafetensors(AsBytes(file));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  ASSERT_EQ(parsed->tensors.size(), 4u);
  EXPECT_EQ(parsed->metadata,
            (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}, {"b", "2"}}));
  const SafetensorsTensor* w = parsed->Find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->type->name, "BF16");
  EXPECT_EQ(w->shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(std::string(w->data.begin(), w->data.end()), "defg");
  EXPECT_TRUE(parsed->Find("none")->data.empty());
  EXPECT_TRUE(parsed->Find("one")->shape.empty());
  EXPECT_EQ(parsed->Find("b"), nullptr);
  EXPECT_EQ(parsed->Find("zzz"), nullptr);
}

TEST(Safetensors, KnowsEveryTypeOfTheFormat) {
  for (const auto& [name, bits] : std::vector<std::pair<const char*, int>>{
           {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
           {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
           {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
           {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}) {
    SCOPED_TRACE(name);
    const int bytes = bits;  // of 8 elements
    const std::string file = SafetensorsFile(
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[2,4],"data_offsets":[0,{}]}}}})", name, bytes),
        std::string(static_cast<size_t>(bytes), 'x'));
    EXPECT_TRUE(ParseSafetensors(AsBytes(file)).ok());
  }
}

TEST(Safetensors, WhatIsWrittenReadsBackEqual) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/out.safetensors";
  const std::vector<SafetensorsTensor> tensors = {
      MakeTensor("logits \"quoted\" \\ ü", "F32", {2, 3}, "123456789012345678901234"),
      MakeTensor("ids", "I32", {1}, "abcd"), MakeTensor("nothing", "F16", {0}, "")};
  const std::vector<std::pair<std::string, std::string>> metadata = {{"made by", "a \"test\""}};
  ASSERT_TRUE(WriteSafetensors(path, tensors, metadata).ok());
  auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok());
  auto parsed = ParseSafetensors(file->bytes());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(parsed->metadata, metadata);
  ASSERT_EQ(parsed->tensors.size(), 3u);
  for (const SafetensorsTensor& wanted : tensors) {
    const SafetensorsTensor* tensor = parsed->Find(wanted.name);
    ASSERT_NE(tensor, nullptr) << wanted.name;
    EXPECT_EQ(tensor->type, wanted.type);
    EXPECT_EQ(tensor->shape, wanted.shape);
    EXPECT_TRUE(std::equal(tensor->data.begin(), tensor->data.end(), wanted.data.begin(),
                           wanted.data.end()));
  }
  EXPECT_EQ(SafetensorsHeader(tensors, metadata).size() % 8, 0u);
  EXPECT_TRUE(ParseSafetensors(AsBytes(SafetensorsHeader({}))).ok());
}

TEST(Safetensors, WritingWhereNobodyMayFails) {
  const Status status = WriteSafetensors("/nonexistent/folder/out.safetensors", {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("/nonexistent/folder/out.safetensors"),
            std::string::npos);
}

// The largest mixture-of-experts models have about this many tensors.
TEST(Safetensors, ReadsAHundredThousandTensorsQuickly) {
  std::vector<SafetensorsTensor> tensors;
  const std::string data(100'000, 'x');
  for (size_t i = 0; i < data.size(); ++i) {
    tensors.push_back(MakeTensor(
        fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight", i / 1000, i % 1000), "U8",
        {1}, std::string_view(data).substr(i, 1)));
  }
  const std::string file = SafetensorsHeader(tensors) + data;
  const auto begin = std::chrono::steady_clock::now();
  auto parsed = ParseSafetensors(AsBytes(file));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(parsed->tensors.size(), data.size());
  EXPECT_LT(seconds, 15);
}

}  // namespace
}  // namespace tonnage
