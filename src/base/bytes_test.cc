#include "base/bytes.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Bytes, FormatsForPeople) {
  EXPECT_EQ(FormatBytes(117), "117 B");
  EXPECT_EQ(FormatBytes(4 * kKiB), "4.0 KiB");
  EXPECT_EQ(FormatBytes(16 * kGiB), "16.0 GiB");
  EXPECT_EQ(FormatThousands(1048576), "1,048,576");
  EXPECT_EQ(FormatThousands(-1234), "-1,234");
  EXPECT_EQ(FormatThousands(-123), "-123");
  EXPECT_EQ(FormatThousands(999), "999");
}

TEST(Bytes, ArithmeticReportsOverflow) {
  EXPECT_EQ(CheckedMul(3, 4), 12);
  EXPECT_FALSE(CheckedMul(INT64_MAX, 2).has_value());
  EXPECT_FALSE(CheckedAdd(INT64_MAX, 1).has_value());
  EXPECT_FALSE(CheckedAdd(-1, 1).has_value());
  EXPECT_EQ(RoundUp(65, 64), 128);
}

}  // namespace
}  // namespace tonnage
