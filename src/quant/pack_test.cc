// Properties of the quantizers, and cases worked out by hand. What other programs write is in
// checkpoint/quant_golden_test.cc.
#include "quant/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "quant/unpack.h"

namespace tonnage {
namespace {

std::vector<Format> Packable() {
  std::vector<Format> formats;
  for (FormatKind kind :
       {FormatKind::kF32, FormatKind::kF16, FormatKind::kBF16, FormatKind::kQ4_0, FormatKind::kQ4_1,
        FormatKind::kQ8_0, FormatKind::kQ4_K, FormatKind::kQ6_K, FormatKind::kMxfp4,
        FormatKind::kMxfp8, FormatKind::kNvfp4}) {
    formats.push_back(Format::Of(kind));
  }
  for (int bits : {2, 3, 4, 5, 6, 8}) {
    for (int group : {32, 64, 128}) formats.push_back(Format::Affine(bits, group, DType::kF16));
  }
  return formats;
}

std::vector<float> Row(const QuantizedWeight& weight, std::int64_t row) {
  std::vector<float> out(static_cast<size_t>(weight.k));
  UnpackRow(weight.View(), row, out);
  return out;
}

// The distance between neighbouring codes, for values of [-1, 1].
double Step(const Format& format) {
  switch (format.kind) {
    case FormatKind::kF32:
      return 0;
    case FormatKind::kF16:
      return 0x1p-11;
    case FormatKind::kBF16:
      return 0x1p-8;
    case FormatKind::kQ4_0:
      return 1 / 8.;
    case FormatKind::kQ4_1:
      return 2 / 15.;
    case FormatKind::kQ8_0:
      return 1 / 127.;
    case FormatKind::kQ4_K:
      return 2 / 14.;
    case FormatKind::kQ6_K:
      return 1 / 31.;
    case FormatKind::kMxfp4:
      return 2 / 6.;
    case FormatKind::kNvfp4:
      return 1.07 / 6;
    case FormatKind::kMxfp8:
      return 1 / 16.;
    default:
      return 2. / ((1 << format.bits) - 1);
  }
}

TEST(Pack, ReadingBackIsWithinAStep) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(6 * 256);
  for (float& v : values) v = uniform(random);
  for (const Format& format : Packable()) {
    SCOPED_TRACE(format.Name());
    ASSERT_TRUE(CanPack(format.kind));
    const QuantizedWeight weight = Pack(format, 2, 3, 256, values);
    for (std::int64_t row = 0; row < 6; ++row) {
      const std::vector<float> out = Row(weight, row);
      for (size_t i = 0; i < 256; ++i) {
        ASSERT_NEAR(out[i], values[static_cast<size_t>(row) * 256 + i], Step(format) * 1.02)
            << row << " " << i;
      }
    }
  }
}

TEST(Pack, SurvivesWhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const Format& format : Packable()) {
    for (float odd :
         {inf, -inf, nan, std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()}) {
      std::vector<float> values(256, 0.5f);
      values[17] = odd;
      values[90] = -odd;
      const QuantizedWeight weight = Pack(format, 1, 1, 256, values);
      EXPECT_EQ(Row(weight, 0).size(), 256u);
    }
  }
}

TEST(Pack, AffineKeepsZeroAndTheFurthestEdgeExact) {
  std::vector<float> values(32, 0.f);
  values[3] = -3.f;
  values[9] = 1.f;
  const QuantizedWeight weight = Pack(Format::Affine(4, 32, DType::kF32), 1, 1, 32, values);
  const std::vector<float> out = Row(weight, 0);
  EXPECT_EQ(out[3], -3.f);
  EXPECT_NEAR(out[0], 0.f, 1e-6);
}

TEST(Pack, AffineProfilesDifferWhereMlxsDevicesDo) {
  // Without a positive number in the group, the GPU's range reaches up to 0 and the CPU's does not.
  std::vector<float> values(32);
  for (size_t i = 0; i < 32; ++i) values[i] = -16.f - static_cast<float>(i % 16);
  const Format format = Format::Affine(4, 32, DType::kF32);
  const QuantizedWeight cpu = Pack(format, 1, 1, 32, values, {.profile = PackProfile::kMlxCpu});
  const QuantizedWeight gpu = Pack(format, 1, 1, 32, values, {.profile = PackProfile::kMlxGpu});
  float cpu_scale = 0, gpu_scale = 0;
  std::memcpy(&cpu_scale, cpu.scales.data(), 4);
  std::memcpy(&gpu_scale, gpu.scales.data(), 4);
  EXPECT_FLOAT_EQ(cpu_scale, 1.f);
  EXPECT_FLOAT_EQ(gpu_scale, 31.f / 15.f);
  EXPECT_EQ(Row(cpu, 0), values);

  // 8-bit codes of a group from -1 to 254: the scale is -1 from the edge 254, and halves lie
  // between two codes.
  values.assign(32, 0.f);
  values[0] = 254.f;
  values[1] = -1.f;
  values[2] = 251.5f;  // 2.5 below the edge
  const QuantizedWeight even =
      Pack(Format::Affine(8, 32, DType::kF32), 1, 1, 32, values, {.profile = PackProfile::kMlxCpu});
  const QuantizedWeight away =
      Pack(Format::Affine(8, 32, DType::kF32), 1, 1, 32, values, {.profile = PackProfile::kMlxGpu});
  EXPECT_EQ(even.data[2], 2);
  EXPECT_EQ(away.data[2], 3);
}

// Of what `Pack` makes of normally distributed numbers, relative to them.
double RelativeError(const Format& format) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(32 * 1024);
  for (float& v : values) v = normal(random);
  const QuantizedWeight weight = Pack(format, 1, 32, 1024, values);
  double error = 0, size = 0;
  for (std::int64_t row = 0; row < 32; ++row) {
    const std::vector<float> out = Row(weight, row);
    for (size_t i = 0; i < 1024; ++i) {
      const double value = values[static_cast<size_t>(row) * 1024 + i];
      error += (out[i] - value) * (out[i] - value);
      size += value * value;
    }
  }
  return std::sqrt(error / size);
}

// Rounding to 15 steps of a normal range of 32 costs 0.079, and the search wins a tenth of that; of
// 64 steps around 0 in groups of 16, 0.017.
TEST(Pack, SearchesWhereGgufDoes) {
  const double q4_k = RelativeError(Format::Of(FormatKind::kQ4_K));
  EXPECT_LT(q4_k, 0.95 * RelativeError(Format::Of(FormatKind::kQ4_1)));
  EXPECT_LT(q4_k, 0.9 * RelativeError(Format::Of(FormatKind::kQ4_0)));
  EXPECT_LT(RelativeError(Format::Of(FormatKind::kQ6_K)), 0.3 * q4_k);
}

TEST(Pack, FindsTheScaleThatWasThere) {
  // 16 levels from -7.5 to 7.5, and 64 from -32 to 31.
  std::vector<float> levels(256), wide(256);
  for (size_t i = 0; i < 256; ++i) {
    levels[i] = static_cast<float>(i * 7 % 16) - 7.5f;
    wide[i] = i % 16 == 0 ? -32.f : static_cast<float>(i * 37 % 63) - 31.f;
  }
  EXPECT_EQ(Row(Pack(Format::Of(FormatKind::kQ6_K), 1, 1, 256, wide), 0), wide);
  const std::vector<float> out = Row(Pack(Format::Of(FormatKind::kQ4_K), 1, 1, 256, levels), 0);
  for (size_t i = 0; i < 256; ++i) EXPECT_NEAR(out[i], levels[i], 0.02f) << i;
}

TEST(Pack, FloatModesOfMlxsDevicesDifferWhereTheySay) {
  const PackOptions cpu = {.profile = PackProfile::kMlxCpu},
                    gpu = {.profile = PackProfile::kMlxGpu};
  const Format mxfp4 = Format::Of(FormatKind::kMxfp4);
  std::vector<float> values(32, 0.f);
  EXPECT_EQ(Pack(mxfp4, 1, 1, 32, values, cpu).scales[0], 127);
  EXPECT_EQ(Pack(mxfp4, 1, 1, 32, values, gpu).scales[0], 0);
  // The scale is 1: 3.5 lies between 3 and 4, -0.1 next to 0, and 1.75 between 1.5 and 2.
  values[0] = 6;
  values[1] = 3.5f;
  values[2] = -0.1f;
  values[3] = 1.75f;
  const QuantizedWeight low = Pack(mxfp4, 1, 1, 32, values, cpu);
  EXPECT_EQ(low.scales[0], 127);
  EXPECT_EQ(low.data[0], 0x57);
  EXPECT_EQ(low.data[1], 0x30);
  const QuantizedWeight even = Pack(mxfp4, 1, 1, 32, values, gpu);
  EXPECT_EQ(even.scales[0], 127);
  EXPECT_EQ(even.data[0], 0x67);
  EXPECT_EQ(even.data[1], 0x48);
}

TEST(Pack, ScalesByTheLeastPowerOfTwoThatIsEnough) {
  std::vector<float> values(32, 0.f);
  for (const auto& [largest, code] :
       {std::pair{6.f, 127}, {6.01f, 128}, {12.f, 128}, {0.7f, 124}}) {
    values[5] = -largest;
    EXPECT_EQ(Pack(Format::Of(FormatKind::kMxfp4), 1, 1, 32, values).scales[0], code) << largest;
  }
}

}  // namespace
}  // namespace tonnage
