#include "base/cpu_features.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(CpuFeatures, LoweringOnlyTakesAway) {
  const CpuFeatures all{true, true, true, true, true, true};
  EXPECT_EQ(all.LoweredTo("portable")->ToString(), "portable");
  EXPECT_EQ(all.LoweredTo("avx2")->ToString(), "avx2");
  EXPECT_EQ(all.LoweredTo("vnni")->ToString(), "avx2 avx512 avx512_vnni avx512_bf16");
  EXPECT_EQ(all.LoweredTo("amx")->ToString(), all.ToString());
  EXPECT_EQ(CpuFeatures{}.LoweredTo("amx")->ToString(), "portable");
  EXPECT_EQ(all.LoweredTo("neon").error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tonnage
