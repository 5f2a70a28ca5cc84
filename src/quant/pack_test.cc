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
  for (FormatKind kind : {FormatKind::kF32, FormatKind::kF16, FormatKind::kBF16, FormatKind::kQ4_0,
                          FormatKind::kQ4_1, FormatKind::kQ8_0}) {
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
      std::vector<float> values(128, 0.5f);
      values[17] = odd;
      values[90] = -odd;
      const QuantizedWeight weight = Pack(format, 1, 1, 128, values);
      EXPECT_EQ(Row(weight, 0).size(), 128u);
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
  const QuantizedWeight cpu = Pack(format, 1, 1, 32, values, AffineProfile::kMlxCpu);
  const QuantizedWeight gpu = Pack(format, 1, 1, 32, values, AffineProfile::kMlxGpu);
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
      Pack(Format::Affine(8, 32, DType::kF32), 1, 1, 32, values, AffineProfile::kMlxCpu);
  const QuantizedWeight away =
      Pack(Format::Affine(8, 32, DType::kF32), 1, 1, 32, values, AffineProfile::kMlxGpu);
  EXPECT_EQ(even.data[2], 2);
  EXPECT_EQ(away.data[2], 3);
}

}  // namespace
}  // namespace tonnage
