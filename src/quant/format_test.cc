#include "quant/format.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Format, BytesOfARow) {
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kF32), 3)->Total(), 12);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kBF16), 0)->Total(), 0);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kQ4_0), 64)->data, 36);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kQ4_1), 64)->data, 40);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kQ8_0), 64)->data, 68);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kQ6_K), 512)->data, 420);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kQ3_K), 256)->Total(), 110);
  EXPECT_EQ(FormatRowBytes(Format::Of(FormatKind::kMxfp4Gguf), 64)->data, 34);
  const auto mxfp8 = FormatRowBytes(Format::Of(FormatKind::kMxfp8), 64);
  EXPECT_EQ(mxfp8->data, 64);
  EXPECT_EQ(mxfp8->scales, 2);
  EXPECT_EQ(mxfp8->biases, 0);
  const auto nvfp4 = FormatRowBytes(Format::Of(FormatKind::kNvfp4Global), 64);
  EXPECT_EQ(nvfp4->data, 32);
  EXPECT_EQ(nvfp4->scales, 4);
  EXPECT_EQ(nvfp4->biases, 4);
  const auto fp8 = FormatRowBytes(Format::Fp8(128, DType::kBF16), 256);
  EXPECT_EQ(fp8->data, 256);
  EXPECT_EQ(fp8->scales, 4);
  EXPECT_EQ(fp8->biases, 0);
  const auto affine = FormatRowBytes(Format::Affine(3, 64, DType::kF16), 128);
  EXPECT_EQ(affine->data, 48);
  EXPECT_EQ(affine->scales, 4);
  EXPECT_EQ(affine->biases, 4);
  EXPECT_EQ(affine->Total(), 56);
}

TEST(Format, RefusesPartialBlocksAndOverflow) {
  EXPECT_FALSE(FormatRowBytes(Format::Of(FormatKind::kQ4_0), 33));
  EXPECT_FALSE(FormatRowBytes(Format::Of(FormatKind::kQ6_K), 128));
  EXPECT_FALSE(FormatRowBytes(Format::Affine(4, 64, DType::kF32), 96));
  EXPECT_FALSE(FormatRowBytes(Format::Of(FormatKind::kF32), -4));
  EXPECT_FALSE(FormatRowBytes(Format::Of(FormatKind::kF32), INT64_MAX / 2));
  EXPECT_FALSE(FormatRowBytes(Format::Affine(8, 32, DType::kF32), INT64_MAX / 32 * 32));
}

TEST(Format, NamesAndSizesForPeople) {
  EXPECT_EQ(Format::Of(FormatKind::kQ4_1).Name(), "q4_1");
  EXPECT_EQ(Format::Of(FormatKind::kIQ4_XS).Name(), "iq4_xs");
  EXPECT_EQ(Format::Affine(4, 64, DType::kBF16).Name(), "affine 4-bit g64 (bf16)");
  EXPECT_EQ(Format::Fp8(128, DType::kF32).Name(), "fp8 g128 (f32)");
  EXPECT_DOUBLE_EQ(Format::Of(FormatKind::kF16).BitsPerWeight(), 16);
  EXPECT_DOUBLE_EQ(Format::Of(FormatKind::kQ4_0).BitsPerWeight(), 4.5);
  EXPECT_DOUBLE_EQ(Format::Of(FormatKind::kQ6_K).BitsPerWeight(), 6.5625);
  EXPECT_DOUBLE_EQ(Format::Of(FormatKind::kNvfp4).BitsPerWeight(), 4.5);
  EXPECT_DOUBLE_EQ(Format::Affine(4, 64, DType::kBF16).BitsPerWeight(), 4.5);
}

}  // namespace
}  // namespace tonnage
