// Which kernel a weight gets, from its format, its shape, the precision and the processor.
#include <gtest/gtest.h>

#include <string>

#include "kernels/matmul/matmul.h"

namespace tonnage {
namespace {

TEST(SelectMatmul, LeavesOddRowsToTheReference) {
  const CpuFeatures features = CpuFeatures::Detect();
  const Format nvfp4 = Format::Of(FormatKind::kNvfp4), fp8 = Format::Fp8(128, DType::kF32);
  EXPECT_EQ(SelectMatmul(nvfp4, 1, 48, Precision::kFast, features).name, "reference");
  EXPECT_NE(SelectMatmul(nvfp4, 1, 64, Precision::kFast, features).name, "reference");
  EXPECT_EQ(SelectMatmul(fp8, 1, 128, Precision::kFast, features).precision, Precision::kExact);
}

TEST(SelectMatmul, TakesTheFirstRowThatFits) {
  const Format q4 = Format::Of(FormatKind::kQ4_1), f16 = Format::Of(FormatKind::kF16);
  const CpuFeatures none;
  EXPECT_EQ(SelectMatmul(q4, 16, 32, Precision::kFast, none).name, "fast_portable");
  EXPECT_EQ(SelectMatmul(q4, 16, 32, Precision::kExact, none).name, "exact_portable");
  EXPECT_EQ(SelectMatmul(f16, 16, 32, Precision::kFast, none).name, "exact_portable");
#if defined(__x86_64__)
  const CpuFeatures avx2 = {.avx2 = true};
  EXPECT_EQ(SelectMatmul(q4, 16, 32, Precision::kFast, avx2).name, "fast_avx2");
  EXPECT_EQ(SelectMatmul(q4, 16, 32, Precision::kExact, avx2).name, "exact_avx2");
  const CpuFeatures vnni = {.avx2 = true, .avx512 = true, .avx512_vnni = true};
  EXPECT_EQ(SelectMatmul(q4, 16, 32, Precision::kFast, vnni).name, "fast_vnni");
  EXPECT_EQ(SelectMatmul(f16, 16, 32, Precision::kFast, vnni).name, "exact_avx512");
#endif
}

TEST(SelectMatmul, ForcedIsConsideredAlone) {
  const Format q4 = Format::Of(FormatKind::kQ4_1), f16 = Format::Of(FormatKind::kF16);
  const CpuFeatures none;
  EXPECT_EQ(SelectMatmul(q4, 1, 32, Precision::kFast, none, "exact_portable").name,
            "exact_portable");
  EXPECT_EQ(SelectMatmul(f16, 1, 32, Precision::kFast, none, "fast_portable").name, "reference");
  EXPECT_EQ(SelectMatmul(q4, 1, 32, Precision::kExact, none, "fast_portable").name, "reference");
  EXPECT_EQ(SelectMatmul(q4, 1, 32, Precision::kFast, none, "fast_avx2").name, "reference");
}

TEST(SelectPromptMatmul, IsFastAndOnPanels) {
  const Format q4 = Format::Of(FormatKind::kQ4_1), f16 = Format::Of(FormatKind::kF16);
  const CpuFeatures none;
  const auto name = [](const Format& format, std::int64_t k, Precision precision,
                       const CpuFeatures& features, std::string_view forced) {
    const MatmulKernel& kernel = SelectMatmul(format, 16, k, precision, features, forced);
    const PromptMatmulKernel* const prompt =
        SelectPromptMatmul(kernel, format, 16, k, precision, features, forced);
    return prompt == nullptr ? std::string() : std::string(prompt->name);
  };
  EXPECT_EQ(name(q4, 32, Precision::kFast, none, ""), "");
  EXPECT_EQ(name(q4, 32, Precision::kFast, none, "prompt_portable"), "prompt_portable");
  EXPECT_EQ(name(q4, 32, Precision::kExact, none, "prompt_portable"), "");
  EXPECT_EQ(name(q4, 32, Precision::kFast, none, "reference"), "");
  EXPECT_EQ(SelectMatmul(q4, 16, 32, Precision::kFast, none, "prompt_portable").name,
            "fast_portable");
#if defined(__x86_64__)
  const CpuFeatures bf16 = {.avx2 = true, .avx512 = true, .avx512_vnni = true, .avx512_bf16 = true};
  EXPECT_EQ(name(q4, 32, Precision::kFast, bf16, ""), "");
  EXPECT_EQ(name(f16, 32, Precision::kFast, bf16, ""), "prompt_bf16");
  CpuFeatures amx = bf16;
  amx.amx_bf16 = true;
  EXPECT_EQ(name(q4, 32, Precision::kFast, amx, ""), "prompt_amx");
  EXPECT_EQ(name(Format::Of(FormatKind::kNvfp4), 48, Precision::kFast, amx, ""), "");
  EXPECT_EQ(name(q4, 32, Precision::kFast, amx, "fast_vnni"), "");
  EXPECT_EQ(name(q4, 32, Precision::kFast, none, "prompt_amx"), "");
#endif
}

}  // namespace
}  // namespace tonnage
