#include "checkpoint/gguf.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "checkpoint/mapped_file.h"
#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::AsBytes;
using testing::GgufParts;
using testing::GgufString;
using testing::GgufTensorInfo;
using testing::GgufTypeId;
using testing::Raw;

TEST(Gguf, ReadsEveryMetadataType) {
  GgufParts parts;
  parts.Add("u8", GgufType::kU8, Raw<std::uint8_t>(200));
  parts.Add("i8", GgufType::kI8, Raw<std::int8_t>(-5));
  parts.Add("u16", GgufType::kU16, Raw<std::uint16_t>(60000));
  parts.Add("i16", GgufType::kI16, Raw<std::int16_t>(-6000));
  parts.Add("u32", GgufType::kU32, Raw<std::uint32_t>(4000000000));
  parts.Add("i32", GgufType::kI32, Raw<std::int32_t>(-70000));
  parts.Add("u64", GgufType::kU64, Raw<std::uint64_t>(1ull << 63));
  parts.Add("i64", GgufType::kI64, Raw<std::int64_t>(-(1ll << 40)));
  parts.Add("f32", GgufType::kF32, Raw(1.5f));
  parts.Add("f64", GgufType::kF64, Raw(1e-300));
  parts.Add("bool", GgufType::kBool, Raw<std::uint8_t>(1));
  parts.Add("string", GgufType::kString, GgufString("llama"));
  parts.AddArray("words", GgufType::kString, 3,
                 GgufString("a") + GgufString("") + GgufString("ccc"));
  parts.AddArray("kinds", GgufType::kI32, 2, Raw<std::int32_t>(-1) + Raw<std::int32_t>(6));
  parts.AddArray("scores", GgufType::kF32, 2, Raw(0.5f) + Raw(-2.0f));
  const std::string inner = GgufTypeId(GgufType::kU8) + Raw<std::uint64_t>(2) + "xy";
  parts.AddArray("nested", GgufType::kArray, 2, inner + inner);
  const std::string file = parts.Build();
  auto gguf = Gguf::Parse(AsBytes(file));
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();

  EXPECT_EQ(*gguf->Require<std::int64_t>("u8"), 200);
  EXPECT_EQ(*gguf->Require<std::int64_t>("i8"), -5);
  EXPECT_EQ(*gguf->Require<std::int64_t>("u16"), 60000);
  EXPECT_EQ(*gguf->Require<std::int64_t>("i16"), -6000);
  EXPECT_EQ(*gguf->Require<std::int64_t>("u32"), 4000000000);
  EXPECT_EQ(*gguf->Require<std::int64_t>("i32"), -70000);
  EXPECT_EQ(*gguf->Require<std::int64_t>("i64"), -(1ll << 40));
  EXPECT_EQ(*gguf->Require<double>("f32"), 1.5);
  EXPECT_EQ(*gguf->Require<double>("f64"), 1e-300);
  EXPECT_EQ(*gguf->Require<double>("u8"), 200);
  EXPECT_EQ(*gguf->Require<bool>("bool"), true);
  EXPECT_EQ(*gguf->Require<std::string_view>("string"), "llama");
  EXPECT_EQ(*gguf->Require<std::vector<std::string_view>>("words"),
            (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(*gguf->Require<std::vector<std::int64_t>>("kinds"), (std::vector<std::int64_t>{-1, 6}));
  EXPECT_EQ(*gguf->Require<std::vector<float>>("scores"), (std::vector<float>{0.5f, -2.0f}));
  EXPECT_EQ(gguf->Find("nested")->array.count, 2u);
  EXPECT_EQ(gguf->Find("nested")->array.bytes.size(), 2 * inner.size());

  EXPECT_FALSE(gguf->Get<std::int64_t>("absent")->has_value());
  for (const auto& error :
       {gguf->Get<std::int64_t>("u64").error(), gguf->Get<std::int64_t>("f32").error(),
        gguf->Get<bool>("u8").error(), gguf->Get<std::string_view>("words").error(),
        gguf->Get<std::vector<std::int64_t>>("scores").error(),
        gguf->Get<std::vector<std::int64_t>>("nested").error(),
        gguf->Get<std::vector<std::string_view>>("kinds").error(),
        gguf->Get<std::vector<std::string_view>>("string").error()}) {
    EXPECT_NE(error.message().find("metadata `"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("must be"), std::string::npos) << error.message();
  }
  EXPECT_EQ(gguf->Require<bool>("absent").error().message(), "metadata `absent` is missing");
  EXPECT_EQ(gguf->Get<std::string_view>("kinds").error().message(),
            "metadata `kinds` must be a string, not array of 2 i32s");
}

TEST(Gguf, PlacesTensorsByAlignment) {
  for (const std::uint32_t alignment : {1u, 8u, 32u, 64u}) {
    SCOPED_TRACE(alignment);
    GgufParts parts;
    parts.Add("general.alignment", GgufType::kU32, Raw(alignment));
    parts.alignment = alignment;
    parts.tensors = {GgufTensorInfo("second", {4}, 0, 64), GgufTensorInfo("first", {3, 2}, 24, 0),
                     GgufTensorInfo("scalar", {}, 0, 128), GgufTensorInfo("empty", {0, 5}, 0, 128)};
    parts.data = std::string(132, 'x');
    parts.data.replace(64, 4, "head");
    const std::string file = parts.Build();
    auto gguf = Gguf::Parse(AsBytes(file));
    ASSERT_TRUE(gguf.ok()) << gguf.error().message();
    ASSERT_EQ(gguf->tensors().size(), 4u);
    EXPECT_EQ(gguf->tensors()[0].name, "second");
    EXPECT_EQ(gguf->tensors()[0].data.size(), 16u);
    EXPECT_EQ(gguf->tensors()[0].data[0], 'h');
    EXPECT_EQ(gguf->tensors()[1].shape, (Shape{2, 3}));
    EXPECT_EQ(gguf->tensors()[2].shape.rank(), 0);
    EXPECT_EQ(gguf->tensors()[2].data.size(), 4u);
    EXPECT_EQ(gguf->tensors()[3].data.size(), 0u);
  }
}

TEST(Gguf, ReadsVersionTwoAndNoOther) {
  GgufParts parts;
  parts.version = 2;
  EXPECT_TRUE(Gguf::Parse(AsBytes(parts.Build())).ok());
  parts.version = 1;
  EXPECT_EQ(Gguf::Parse(AsBytes(parts.Build())).error().code(), Code::kUnsupported);
  parts.version = 0x03000000;
  const std::string file = parts.Build();
  EXPECT_NE(Gguf::Parse(AsBytes(file)).error().message().find("big-endian"), std::string::npos);
}

// Nothing is allocated per token, so a large vocabulary is read in the time of one pass over it.
TEST(Gguf, ReadsALargeVocabularyQuickly) {
  constexpr std::uint64_t kTokens = 200'000;
  GgufParts parts;
  std::string tokens;
  for (std::uint64_t i = 0; i < kTokens; ++i) tokens += GgufString("token" + std::to_string(i));
  parts.AddArray("tokenizer.ggml.tokens", GgufType::kString, kTokens, tokens);
  const std::string file = parts.Build();
  const auto begin = std::chrono::steady_clock::now();
  auto gguf = Gguf::Parse(AsBytes(file));
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  EXPECT_LT(seconds, 3);
  EXPECT_EQ(gguf->Require<std::vector<std::string_view>>("tokenizer.ggml.tokens")->back(),
            "token199999");
}

TEST(Gguf, ReadsTheOraclesVocabularies) {
  const char* set = std::getenv("TONNAGE_ORACLES");
  const std::filesystem::path folder =
      std::string(set != nullptr ? set : TONNAGE_SOURCE_DIR "/../shared/oracles") + "/gguf_vocab";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path());
    auto file = MappedFile::Open(entry.path().string());
    ASSERT_TRUE(file.ok());
    auto gguf = Gguf::Parse(file->bytes());
    ASSERT_TRUE(gguf.ok()) << gguf.error().message();
    EXPECT_GT(gguf->Require<std::vector<std::string_view>>("tokenizer.ggml.tokens")->size(), 1000u);
    EXPECT_GT(gguf->Require<std::vector<std::int64_t>>("tokenizer.ggml.token_type")->size(), 1000u);
  }
}

TEST(GgufTest, TheHeaderIsKnownFromTheFilesBeginning) {
  GgufParts parts;
  parts.Add("a", GgufType::kString, GgufString("text"));
  parts.tensors = {GgufTensorInfo("t", {4}, 0, 0)};
  parts.data = std::string(16, 'x');
  const std::string file = parts.Build();
  size_t header = 0;
  while (!Gguf::HeaderBytes(AsBytes(file.substr(0, header))).ok()) ++header;
  EXPECT_EQ(*Gguf::HeaderBytes(AsBytes(file)), header);
  EXPECT_EQ(file.size(), RoundUp(static_cast<std::int64_t>(header), 32) + 16u);
}

}  // namespace
}  // namespace tonnage
