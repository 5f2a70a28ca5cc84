#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tonnage {
namespace {

TEST(DType, EveryF16RoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = F16ToF32(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(F16ToF32(F32ToF16(value))));
    } else {
      EXPECT_EQ(F32ToF16(value), half) << bits;
    }
  }
}

TEST(DType, F16RoundsToNearestEven) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value) || std::fabs(value) >= 65504.0f) continue;
    const std::uint16_t half = F32ToF16(value);
    const double error = std::fabs(double{F16ToF32(half)} - value);
    for (int step : {-1, 1}) {
      const double other = F16ToF32(static_cast<std::uint16_t>(half + step));
      if (!std::isfinite(other)) continue;
      const double other_error = std::fabs(other - value);
      EXPECT_LE(error, other_error);
      EXPECT_TRUE(error != other_error || half % 2 == 0);
    }
  }
  EXPECT_EQ(F32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(F32ToF16(65519.0f), 0x7bff);
}

TEST(DType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(F32ToBf16(1.0f), 0x3f80);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // a tie goes to even
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(std::nanf("")))));
}

}  // namespace
}  // namespace tonnage
