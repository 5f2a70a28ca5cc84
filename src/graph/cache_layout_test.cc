#include "graph/cache_layout.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

constexpr LayerCache kFull{.kv_heads = 2, .k_dim = 32, .v_dim = 16};
constexpr LayerCache kWindow{.kv_heads = 2, .k_dim = 32, .v_dim = 16, .window = 100};

TEST(CacheLayout, AFullLayerHoldsTheContext) {
  EXPECT_EQ(PagesPerSlot(kFull, {.context_tokens = 0}), 0);
  EXPECT_EQ(PagesPerSlot(kFull, {.context_tokens = 1}), 1);
  EXPECT_EQ(PagesPerSlot(kFull, {.context_tokens = 64}), 1);
  EXPECT_EQ(PagesPerSlot(kFull, {.context_tokens = 65}), 2);
}

TEST(CacheLayout, AWindowLayerHoldsTheWindowAndASlice) {
  EXPECT_EQ(PagesPerSlot(kWindow, {.context_tokens = 4096, .max_slice_rows = 28}), 2);
  EXPECT_EQ(PagesPerSlot(kWindow, {.context_tokens = 4096, .max_slice_rows = 29}), 3);
  // Never more than the whole context.
  EXPECT_EQ(PagesPerSlot(kWindow, {.context_tokens = 64, .max_slice_rows = 512}), 1);
}

TEST(CacheLayout, BytesAddUpOverLayersAndSlots) {
  EXPECT_EQ(PageBytes(kFull, DType::kF16), 64 * 2 * (32 + 16) * 2);
  // Codes, and two scales of two bytes for each head of a token.
  EXPECT_EQ(PageBytes(kFull, DType::kU8), 64 * 2 * (32 + 16 + 4));
  EXPECT_EQ(PageBytes({.kv_heads = 3, .k_dim = 33, .v_dim = 17}, DType::kU8),
            64 * 3 * (34 + 17 + 4));
  const CacheSettings settings{
      .context_tokens = 1000, .slots = 3, .max_slice_rows = 28, .kv_dtype = DType::kF32};
  const Bytes page = 64 * 2 * (32 + 16) * 4;
  EXPECT_EQ(CacheBytes({{kFull, kWindow, kFull}}, settings), 3 * page * (16 + 2 + 16));
}

TEST(CacheLayout, WordsAreParsedAsTheyArePrinted) {
  for (const std::string_view word : {"f32", "f16", "bf16", "q8"}) {
    const auto dtype = ParseKvType(word);
    ASSERT_TRUE(dtype.ok());
    EXPECT_EQ(KvTypeName(*dtype), word);
    EXPECT_TRUE(IsKvType(*dtype));
  }
  for (const std::string_view word : {"", "u8", "i32", "q4", "Q8"}) {
    EXPECT_EQ(ParseKvType(word).error().code(), Code::kInvalidArgument) << word;
  }
  EXPECT_FALSE(IsKvType(DType::kI32));
}

TEST(CacheLayout, NarrowerTypesTakeFewerBytes) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    EXPECT_LT(PageBytes(kFull, NarrowerKvType(dtype)), PageBytes(kFull, dtype));
  }
  EXPECT_EQ(NarrowerKvType(DType::kU8), DType::kU8);
}

TEST(CacheLayout, AbsurdSettingsHaveAPriceInsteadOfAnOverflow) {
  const CacheSettings settings{.context_tokens = std::int64_t{1} << 50,
                               .slots = std::int64_t{1} << 40};
  EXPECT_EQ(CacheBytes({{kFull, kFull, kFull}}, settings), kUnpayableBytes);
}

}  // namespace
}  // namespace tonnage
