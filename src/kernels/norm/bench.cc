// RMSNorm of rows that stay in the cache, in bytes read and written a second.
#include <benchmark/benchmark.h>

#include "kernels/norm/norm.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

void BM_RmsNorm(benchmark::State& state, const char* name) {
  const NormKernel* kernel = FindKernel(NormKernels(), name);
  if (kernel == nullptr) return state.SkipWithError("this processor cannot run it");
  constexpr std::int64_t kRows = 16;
  const std::int64_t width = state.range(0);
  const auto x = RandomFloats(kRows * width, 1);
  const auto weight = RandomFloats(width, 2);
  std::vector<float> y(x.size());
  const RmsNormArgs args{.x = x.data(),
                         .weight = weight.data(),
                         .y = y.data(),
                         .width = width,
                         .group = state.range(1)};
  for (auto _ : state) kernel->rms_norm(args, 0, kRows);
  state.SetBytesProcessed(state.iterations() * kRows * width * 8);
}
BENCHMARK_CAPTURE(BM_RmsNorm, avx512, "avx512")->Args({576, 576})->Args({4096, 128});
BENCHMARK_CAPTURE(BM_RmsNorm, avx2, "avx2")->Args({576, 576})->Args({4096, 128});
BENCHMARK_CAPTURE(BM_RmsNorm, reference, "reference")->Args({576, 576})->Args({4096, 128});

}  // namespace
}  // namespace tonnage
