#include "base/vector.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Vector, SumsItsLanes) { EXPECT_EQ(SumLanes(Float4{1, 2, 4, 8} + Splat4(1)), 19); }

TEST(Vector, TransposesFourByFour) {
  Word4 rows[4];
  for (std::uint32_t r = 0; r < 4; ++r) rows[r] = Word4{10 * r, 10 * r + 1, 10 * r + 2, 10 * r + 3};
  Transpose4(rows);
  for (std::uint32_t r = 0; r < 4; ++r) {
    for (std::uint32_t c = 0; c < 4; ++c) EXPECT_EQ(rows[r][c], 10 * c + r);
  }
}

}  // namespace
}  // namespace tonnage
