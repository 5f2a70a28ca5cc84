#include "kernels/variant.h"

#include <gtest/gtest.h>

#include "kernels/norm/norm.h"

namespace tonnage {
namespace {

TEST(SelectKernel, TakesTheFirstThatRuns) {
  static constexpr NormKernel kTable[] = {{"wide", CpuLevel::kAvx512, nullptr},
                                          {"middle", CpuLevel::kAvx2, nullptr},
                                          {"plain", CpuLevel::kPortable, nullptr}};
  const std::span<const NormKernel> table = kTable;
  CpuFeatures features;
  EXPECT_EQ(SelectKernel(table, features).name, "plain");
  features.avx2 = true;
  EXPECT_EQ(SelectKernel(table, features).name, "middle");
  features.avx512 = true;
  EXPECT_EQ(SelectKernel(table, features).name, "wide");
  EXPECT_EQ(SelectKernel(table, features, "plain").name, "plain");
  EXPECT_EQ(SelectKernel(table, features, "another family's").name, "wide");
  features.avx512 = false;
  EXPECT_EQ(SelectKernel(table, features, "wide").name, "middle");
}

}  // namespace
}  // namespace tonnage
