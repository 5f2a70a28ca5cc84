// Lookups in the default model's tied table, in rows a second.
#include <benchmark/benchmark.h>

#include "kernels/embed/embed.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

void BM_Embed(benchmark::State& state, FormatKind kind) {
  constexpr std::int64_t kVocab = 4096, kWidth = 576, kRows = 16;
  const Format format = Format::Of(kind);
  const MatmulKernel& matmul =
      SelectMatmul(format, kVocab, kWidth, Precision::kFast, CpuFeatures::Detect());
  const AlignedBytes packed(matmul.packed_bytes(format, kVocab, kWidth));  // zeros
  const PackedWeight table{
      .kernel = &matmul, .format = format, .n = kVocab, .k = kWidth, .data = packed.span().data()};
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < kRows; ++i) tokens.push_back(i * 251);
  std::vector<float> y(kRows * kWidth);
  for (auto _ : state) Embed({.tokens = tokens.data(), .table = &table, .y = y.data()}, 0, kRows);
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK_CAPTURE(BM_Embed, q4_1, FormatKind::kQ4_1);
BENCHMARK_CAPTURE(BM_Embed, q8_0, FormatKind::kQ8_0);
BENCHMARK_CAPTURE(BM_Embed, bf16, FormatKind::kBF16);

}  // namespace
}  // namespace tonnage
