#include <gtest/gtest.h>

#include "kernels/norm/norm.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

TEST(RmsNorm, EveryVariantMatchesTheReference) {
  for (const NormKernel& kernel : RunnableKernels(NormKernels())) {
    for (const std::int64_t group : {1, 3, 8, 15, 16, 17, 64, 80, 129, 576, 1000}) {
      for (const std::int64_t groups : {1, 3}) {
        SCOPED_TRACE(std::string(kernel.name) + ", group " + std::to_string(group));
        const std::int64_t rows = 3, width = group * groups;
        const auto x = RandomFloats(rows * width, 1, 3.0f);
        const auto weight = RandomFloats(group, 2);
        std::vector<float> y(x.size()), expected(x.size());
        RmsNormArgs args{.x = x.data(),
                         .weight = weight.data(),
                         .y = expected.data(),
                         .width = width,
                         .group = group,
                         .eps = 1e-5f,
                         .weight_offset = groups == 3 ? 1.0f : 0.0f};
        reference::RmsNorm(args, 0, rows);
        args.y = y.data();
        kernel.rms_norm(args, 0, rows);
        for (size_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(y[i], expected[i], 1e-6f + 2e-6f * std::abs(expected[i])) << i;
        }
      }
    }
  }
}

TEST(RmsNorm, ARowDependsOnItselfAlone) {
  constexpr std::int64_t kWidth = 83, kRows = 5;
  const auto weight = RandomFloats(kWidth, 2);
  for (const NormKernel& kernel : RunnableKernels(NormKernels())) {
    auto x = RandomFloats(kRows * kWidth, 1);
    std::vector<float> all(x.size());
    RmsNormArgs args{
        .x = x.data(), .weight = weight.data(), .y = all.data(), .width = kWidth, .group = kWidth};
    kernel.rms_norm(args, 0, kRows);
    // In place, one row a call, last first.
    args.y = x.data();
    for (std::int64_t row = kRows - 1; row >= 0; --row) kernel.rms_norm(args, row, row + 1);
    EXPECT_EQ(x, all) << kernel.name;
  }
}

}  // namespace
}  // namespace tonnage
