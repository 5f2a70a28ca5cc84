#include "quant/minifloat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tonnage {
namespace {

TEST(E4m3, IsWhatItsFieldsSay) {
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    const float value = E4m3ToF32(static_cast<std::uint8_t>(code));
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    EXPECT_EQ(value, code & 0x80 ? -magnitude : magnitude) << code;
    EXPECT_EQ(std::signbit(value), (code & 0x80) != 0);
  }
}

TEST(E4m3, RoundsToTheNearestAndTiesToEven) {
  for (int code = 0; code < 0x7e; ++code) {
    const float low = E4m3ToF32(static_cast<std::uint8_t>(code));
    const float high = E4m3ToF32(static_cast<std::uint8_t>(code + 1));
    const float middle = (low + high) / 2;
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(F32ToE4m3(low), code);
    EXPECT_EQ(F32ToE4m3(std::nextafter(middle, 0.f)), code);
    EXPECT_EQ(F32ToE4m3(middle), code + code % 2);
    EXPECT_EQ(F32ToE4m3(std::nextafter(middle, inf)), code + 1);
    EXPECT_EQ(F32ToE4m3(-middle), 0x80 | (code + code % 2));
  }
}

TEST(E4m3, Saturates) {
  for (float large : {448.f, 449.f, 1e30f, std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(F32ToE4m3(large), 0x7e);
    EXPECT_EQ(F32ToE4m3(-large), 0xfe);
  }
}

TEST(E8m0, ArePowersOfTwo) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(E8m0ToF32(static_cast<std::uint8_t>(code)), std::ldexp(1.f, code - 127)) << code;
    EXPECT_EQ(HalfE8m0ToF32(static_cast<std::uint8_t>(code)), std::ldexp(1.f, code - 128)) << code;
  }
}

}  // namespace
}  // namespace tonnage
