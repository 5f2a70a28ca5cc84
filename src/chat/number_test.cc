#include "chat/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tonnage::chat {
namespace {

TEST(Number, IntegersAsPythonReadsThem) {
  EXPECT_EQ(ParseInteger(" -42\n", 10), -42);
  EXPECT_EQ(ParseInteger("1_000", 10), 1000);
  EXPECT_EQ(ParseInteger("0x_ff", 16), 255);
  EXPECT_EQ(ParseInteger("0b11", 0), 3);
  EXPECT_EQ(ParseInteger("٣", 10), 3);
  EXPECT_EQ(ParseInteger("-9223372036854775808", 10), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "-", "1__0", "_1", "1_", "0x", "12a", "1.5", "+-1"}) {
    EXPECT_FALSE(ParseInteger(text, 10)) << text;
  }
  EXPECT_FALSE(ParseInteger("012", 0));
  bool overflow = false;
  EXPECT_FALSE(ParseInteger("9223372036854775808", 10, &overflow));
  EXPECT_TRUE(overflow);
}

TEST(Number, FloatsAsPythonReadsThem) {
  EXPECT_EQ(ParseFloat(" 1e3 "), 1000.0);
  EXPECT_EQ(ParseFloat(".5"), 0.5);
  EXPECT_EQ(ParseFloat("1_0.5"), 10.5);
  EXPECT_EQ(ParseFloat("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(ParseFloat("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*ParseFloat("nan")));
  for (const char* text : {"", ".", "e5", "1e", "0x1", "1._5", "--1", "in"})
    EXPECT_FALSE(ParseFloat(text)) << text;
}

TEST(Number, FloatsAsPythonShowsThem) {
  EXPECT_EQ(FormatFloat(1), "1.0");
  EXPECT_EQ(FormatFloat(0.1), "0.1");
  EXPECT_EQ(FormatFloat(1e16), "1e+16");
  EXPECT_EQ(FormatFloat(1e-5), "1e-05");
  EXPECT_EQ(FormatFloat(123456789012345.6), "123456789012345.6");
  EXPECT_EQ(FormatFloat(-0.0), "-0.0");
}

TEST(Number, RoundsHalvesOfTheExactValueToEven) {
  EXPECT_EQ(RoundFloat(2.5, 0), 2.0);
  EXPECT_EQ(RoundFloat(2.675, 2), 2.67);
  EXPECT_EQ(RoundFloat(1250.0, -2), 1200.0);
  EXPECT_EQ(RoundFloat(1e300, -1), 1e300);
  EXPECT_EQ(RoundFloat(4.0, -1), 0.0);
  EXPECT_EQ(RoundFloat(6.0, -1), 10.0);
  EXPECT_EQ(RoundFloat(5.0, -400), 0.0);
}

TEST(Number, ArithmeticReportsOverflow) {
  const auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(AddIntegers(most, 1));
  EXPECT_FALSE(MultiplyIntegers(most, 2));
  EXPECT_FALSE(PowerIntegers(2, 63));
  EXPECT_EQ(PowerIntegers(2, 62), std::int64_t{1} << 62);
  EXPECT_EQ(PowerIntegers(-1, most), -1);
  EXPECT_EQ(TruncateFloat(-9223372036854775808.0), std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(TruncateFloat(9223372036854775808.0));
  EXPECT_FALSE(TruncateFloat(std::nan("")));
}

}  // namespace
}  // namespace tonnage::chat
