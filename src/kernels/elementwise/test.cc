#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/elementwise/elementwise.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kWidths[] = {1, 7, 16, 31, 64, 100, 1536};

// A few units in the last place, of the result or of what is too small to matter.
void ExpectClose(const std::vector<float>& y, const std::vector<float>& expected) {
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_NEAR(y[i], expected[i], 1e-30f + 6e-7f * std::abs(expected[i])) << i;
  }
}

TEST(Elementwise, EveryVariantMatchesTheReference) {
  for (const ElementwiseKernel& kernel : RunnableKernels(ElementwiseKernels())) {
    for (const std::int64_t width : kWidths) {
      SCOPED_TRACE(std::string(kernel.name) + ", width " + std::to_string(width));
      const auto a = RandomFloats(kRows * width, 1, 4.0f);
      const auto b = RandomFloats(kRows * width, 2);
      std::vector<float> y(a.size()), expected(a.size());
      kernel.add({a.data(), b.data(), y.data(), width}, 0, kRows);
      reference::Add({a.data(), b.data(), expected.data(), width}, 0, kRows);
      EXPECT_EQ(y, expected);
      kernel.silu_glu({a.data(), b.data(), y.data(), width}, 0, kRows);
      reference::SiluGlu({a.data(), b.data(), expected.data(), width}, 0, kRows);
      ExpectClose(y, expected);
      kernel.gelu_tanh_glu({a.data(), b.data(), y.data(), width}, 0, kRows);
      reference::GeluTanhGlu({a.data(), b.data(), expected.data(), width}, 0, kRows);
      for (size_t i = 0; i < y.size(); ++i) {
        // For large negative gates the exponent is large, and so is the error of its argument.
        ASSERT_NEAR(y[i], expected[i], 1e-7f + 1e-6f * std::abs(expected[i])) << i;
      }
    }
  }
}

TEST(Elementwise, ActivationsOfAllSizesOfGate) {
  std::vector<float> gate;
  for (float z = -120.0f; z <= 120.0f; z += 0.0625f) gate.push_back(z);
  for (float z : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e30f, -1e30f}) gate.push_back(z);
  const auto width = static_cast<std::int64_t>(gate.size());
  const std::vector<float> ones(gate.size(), 1.0f);
  std::vector<float> y(gate.size()), expected(gate.size());
  for (const ElementwiseKernel& kernel : RunnableKernels(ElementwiseKernels())) {
    SCOPED_TRACE(kernel.name);
    kernel.silu_glu({gate.data(), ones.data(), y.data(), width}, 0, 1);
    reference::SiluGlu({gate.data(), ones.data(), expected.data(), width}, 0, 1);
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], 1e-7f * std::abs(expected[i]) * 5 + 1e-8f) << gate[i];
    }
    kernel.gelu_tanh_glu({gate.data(), ones.data(), y.data(), width}, 0, 1);
    reference::GeluTanhGlu({gate.data(), ones.data(), expected.data(), width}, 0, 1);
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], 1e-7f * std::abs(expected[i]) * 5 + 1e-7f) << gate[i];
    }
  }
}

TEST(Elementwise, NotANumberStaysOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> gate(20, nan), up(20, 1.0f);
  std::vector<float> y(20);
  for (const ElementwiseKernel& kernel : RunnableKernels(ElementwiseKernels())) {
    kernel.silu_glu({gate.data(), up.data(), y.data(), 20}, 0, 1);
    for (float value : y) EXPECT_TRUE(std::isnan(value)) << kernel.name;
    kernel.gelu_tanh_glu({gate.data(), up.data(), y.data(), 20}, 0, 1);
    for (float value : y) EXPECT_TRUE(std::isnan(value)) << kernel.name;
  }
}

TEST(Elementwise, ARowDependsOnItselfAlone) {
  constexpr std::int64_t kWidth = 37;
  for (const ElementwiseKernel& kernel : RunnableKernels(ElementwiseKernels())) {
    for (const auto function : {kernel.silu_glu, kernel.gelu_tanh_glu}) {
      auto gate = RandomFloats(kRows * kWidth, 1);
      const auto up = RandomFloats(kRows * kWidth, 2);
      std::vector<float> all(gate.size());
      function({gate.data(), up.data(), all.data(), kWidth}, 0, kRows);
      for (std::int64_t row = kRows - 1; row >= 0; --row) {
        function({gate.data(), up.data(), gate.data(), kWidth}, row, row + 1);
      }
      EXPECT_EQ(gate, all) << kernel.name;
    }
  }
}

TEST(SelectRows, CopiesTheRowsInOrder) {
  const std::vector<float> x = {0, 1, 10, 11, 20, 21, 30, 31};
  const std::int32_t index[] = {1, 3};
  std::vector<float> y(4);
  SelectRows({.x = x.data(), .index = index, .y = y.data(), .width = 2}, 0, 2);
  EXPECT_EQ(y, (std::vector<float>{10, 11, 30, 31}));
}

}  // namespace
}  // namespace tonnage
