#include <gtest/gtest.h>

#include "kernels/embed/embed.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

TEST(Embed, LooksUpRowsOfAPackedTable) {
  constexpr std::int64_t kVocab = 19, kWidth = 33;
  const auto table = RandomFloats(kVocab * kWidth, 1);
  const WeightView view{.format = Format::Of(FormatKind::kF32),
                        .n = kVocab,
                        .k = kWidth,
                        .data = reinterpret_cast<const std::uint8_t*>(table.data())};
  const MatmulKernel& kernel =
      SelectMatmul(view.format, kVocab, kWidth, Precision::kExact, CpuFeatures::Detect());
  const AlignedBytes packed(kernel.packed_bytes(view.format, kVocab, kWidth));
  ThreadPool pool(1);
  kernel.pack(view, 0, kVocab, packed.span().data(), pool);
  const PackedWeight weight{.kernel = &kernel,
                            .format = view.format,
                            .n = kVocab,
                            .k = kWidth,
                            .data = packed.span().data()};
  const std::int32_t tokens[] = {18, 0, 7, 7};
  std::vector<float> y(4 * kWidth);
  for (const float scale : {1.0f, 2.5f}) {
    Embed({.tokens = tokens, .table = &weight, .y = y.data(), .scale = scale}, 0, 4);
    for (std::int64_t row = 0; row < 4; ++row) {
      for (std::int64_t i = 0; i < kWidth; ++i) {
        EXPECT_EQ(y[static_cast<size_t>(row * kWidth + i)],
                  table[static_cast<size_t>(tokens[row] * kWidth + i)] * scale);
      }
    }
  }
}

}  // namespace
}  // namespace tonnage
