// Small blocks worked out by hand. What other programs read from the same bytes is in
// checkpoint/quant_golden_test.cc.
#include "quant/unpack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tonnage {
namespace {

void StoreU16(std::uint16_t value, std::uint8_t* to) { std::memcpy(to, &value, sizeof value); }

std::vector<float> Unpack(const WeightView& weight, std::int64_t row = 0) {
  std::vector<float> out(static_cast<size_t>(weight.k));
  UnpackRow(weight, row, out);
  return out;
}

TEST(Unpack, PlainFloats) {
  const float f32[] = {1.5f, -2.f, 0.25f, 8.f};
  WeightView weight{.format = Format::Of(FormatKind::kF32), .n = 2, .k = 2};
  weight.data = reinterpret_cast<const std::uint8_t*>(f32);
  EXPECT_EQ(Unpack(weight, 1), (std::vector<float>{0.25f, 8.f}));
  const std::uint16_t bf16[] = {F32ToBf16(1.5f), F32ToBf16(-2.f)};
  weight = {.format = Format::Of(FormatKind::kBF16), .n = 1, .k = 2};
  weight.data = reinterpret_cast<const std::uint8_t*>(bf16);
  EXPECT_EQ(Unpack(weight), (std::vector<float>{1.5f, -2.f}));
  const std::uint16_t f16[] = {F32ToF16(1.5f), F32ToF16(-2.f)};
  weight.format = Format::Of(FormatKind::kF16);
  weight.data = reinterpret_cast<const std::uint8_t*>(f16);
  EXPECT_EQ(Unpack(weight), (std::vector<float>{1.5f, -2.f}));
}

TEST(Unpack, NibblesOfOneBlock) {
  std::uint8_t block[20] = {};
  StoreU16(F32ToF16(0.5f), block);
  block[2] = 0x31;   // elements 0 and 16 are 1 and 3
  block[17] = 0xf0;  // elements 15 and 31 are 0 and 15
  WeightView weight{.format = Format::Of(FormatKind::kQ4_0), .n = 1, .k = 32, .data = block};
  std::vector<float> out = Unpack(weight);
  EXPECT_EQ(out[0], -3.5f);
  EXPECT_EQ(out[16], -2.5f);
  EXPECT_EQ(out[1], -4.f);
  EXPECT_EQ(out[31], 3.5f);

  StoreU16(F32ToF16(10.f), block + 2);
  block[4] = 0x31;
  block[19] = 0xf0;
  weight.format = Format::Of(FormatKind::kQ4_1);
  out = Unpack(weight);
  EXPECT_EQ(out[0], 10.5f);
  EXPECT_EQ(out[16], 11.5f);
  EXPECT_EQ(out[31], 17.5f);
}

TEST(Unpack, AffineElementsCrossBytes) {
  // 3-bit elements 0, 1, ... 7, 0, 1, ...: eight of them in the bytes 0x88 0xc6 0xfa.
  std::vector<std::uint8_t> data;
  for (int i = 0; i < 8; ++i) data.insert(data.end(), {0x88, 0xc6, 0xfa});
  const float scales[] = {2.f, -1.f}, biases[] = {0.5f, 100.f};
  WeightView weight{.format = Format::Affine(3, 32, DType::kF32), .n = 1, .k = 64};
  weight.data = data.data();
  weight.scales = reinterpret_cast<const std::uint8_t*>(scales);
  weight.biases = reinterpret_cast<const std::uint8_t*>(biases);
  const std::vector<float> out = Unpack(weight);
  for (size_t i = 0; i < 64; ++i) {
    const auto q = static_cast<float>(i % 8);
    EXPECT_EQ(out[i], i < 32 ? q * 2 + 0.5f : 100 - q) << i;
  }
}

TEST(Unpack, EachRowHasItsOwnScales) {
  const std::uint8_t data[2][32] = {{7}, {9}};
  const std::uint16_t scales[] = {F32ToBf16(1.f), F32ToBf16(2.f)},
                      biases[] = {F32ToBf16(0.f), F32ToBf16(-1.f)};
  WeightView weight{.format = Format::Affine(8, 32, DType::kBF16), .experts = 2, .n = 1, .k = 32};
  weight.data = data[0];
  weight.scales = reinterpret_cast<const std::uint8_t*>(scales);
  weight.biases = reinterpret_cast<const std::uint8_t*>(biases);
  EXPECT_EQ(Unpack(weight, 0)[0], 7.f);
  EXPECT_EQ(Unpack(weight, 1)[0], 17.f);
  EXPECT_EQ(Unpack(weight, 1)[31], -1.f);
}

}  // namespace
}  // namespace tonnage
