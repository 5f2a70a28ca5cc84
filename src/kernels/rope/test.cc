#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rope/rope.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

TEST(RopeTable, IsExactFarOut) {
  const std::int32_t positions[] = {0, 1, 131071, 1000000};
  const float frequencies[] = {1.0f, 0.31622776f, 1e-6f};
  float table[4 * 2 * 3];
  FillRopeTable({.positions = positions,
                 .inverse_frequency = frequencies,
                 .pairs = 3,
                 .magnitude = 2.0f,
                 .table = table},
                0, 4);
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 3; ++i) {
      const long double angle =
          static_cast<long double>(positions[row]) * static_cast<long double>(frequencies[i]);
      EXPECT_NEAR(table[row * 6 + i], static_cast<double>(2 * std::cos(angle)), 2e-7);
      EXPECT_NEAR(table[row * 6 + 3 + i], static_cast<double>(2 * std::sin(angle)), 2e-7);
    }
  }
}

struct RopeCase {
  std::int64_t head_dim;
  std::int64_t pairs;
};

class Rope : public ::testing::TestWithParam<RopeCase> {
 protected:
  static constexpr std::int64_t kHeads = 3, kRows = 4;
  const std::int64_t head_dim_ = GetParam().head_dim;
  const std::int64_t pairs_ = GetParam().pairs;
  std::vector<float> x_ = RandomFloats(kRows * kHeads * head_dim_, 1);
  const std::vector<float> table_ = RandomFloats(kRows * 2 * pairs_, 2);

  RopeArgs Args(std::vector<float>& y) {
    return {.x = x_.data(),
            .table = table_.data(),
            .y = y.data(),
            .heads = kHeads,
            .head_dim = head_dim_,
            .pairs = pairs_};
  }
};

TEST_P(Rope, EveryVariantMatchesTheReference) {
  std::vector<float> half(x_.size()), interleaved(x_.size()), y(x_.size());
  reference::RopeHalfSplit(Args(half), 0, kRows);
  reference::RopeInterleaved(Args(interleaved), 0, kRows);
  for (const RopeKernel& kernel : RunnableKernels(RopeKernels())) {
    kernel.half_split(Args(y), 0, kRows);
    EXPECT_EQ(y, half) << kernel.name;
    kernel.interleaved(Args(y), 0, kRows);
    EXPECT_EQ(y, interleaved) << kernel.name;
  }
}

TEST_P(Rope, InPlaceAndRowByRowIsTheSame) {
  for (const RopeKernel& kernel : RunnableKernels(RopeKernels())) {
    for (const auto function : {kernel.half_split, kernel.interleaved}) {
      std::vector<float> all(x_.size());
      function(Args(all), 0, kRows);
      const std::vector<float> before = x_;
      for (std::int64_t row = kRows - 1; row >= 0; --row) function(Args(x_), row, row + 1);
      EXPECT_EQ(x_, all) << kernel.name;
      x_ = before;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Rope,
                         ::testing::Values(RopeCase{2, 1}, RopeCase{8, 4}, RopeCase{10, 3},
                                           RopeCase{64, 32}, RopeCase{80, 40}, RopeCase{100, 19},
                                           RopeCase{128, 32}, RopeCase{128, 64}));

}  // namespace
}  // namespace tonnage
