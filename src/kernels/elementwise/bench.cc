// Elementwise work on rows that stay in the cache, in elements a second.
#include <benchmark/benchmark.h>

#include "kernels/elementwise/elementwise.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kWidth = 1536;

template <typename Args>
void Run(benchmark::State& state, const char* name,
         void (*ElementwiseKernel::*function)(const Args&, std::int64_t, std::int64_t)) {
  const ElementwiseKernel* kernel = FindKernel(ElementwiseKernels(), name);
  if (kernel == nullptr) return state.SkipWithError("this processor cannot run it");
  const auto a = RandomFloats(kRows * kWidth, 1);
  const auto b = RandomFloats(kRows * kWidth, 2);
  std::vector<float> y(a.size());
  const Args args{a.data(), b.data(), y.data(), kWidth};
  for (auto _ : state) (kernel->*function)(args, 0, kRows);
  state.SetItemsProcessed(state.iterations() * kRows * kWidth);
}

void BM_Add(benchmark::State& state, const char* name) {
  Run(state, name, &ElementwiseKernel::add);
}
void BM_SiluGlu(benchmark::State& state, const char* name) {
  Run(state, name, &ElementwiseKernel::silu_glu);
}
void BM_GeluTanhGlu(benchmark::State& state, const char* name) {
  Run(state, name, &ElementwiseKernel::gelu_tanh_glu);
}
BENCHMARK_CAPTURE(BM_Add, avx512, "avx512");
BENCHMARK_CAPTURE(BM_Add, avx2, "avx2");
BENCHMARK_CAPTURE(BM_SiluGlu, avx512, "avx512");
BENCHMARK_CAPTURE(BM_SiluGlu, avx2, "avx2");
BENCHMARK_CAPTURE(BM_SiluGlu, reference, "reference");
BENCHMARK_CAPTURE(BM_GeluTanhGlu, avx512, "avx512");
BENCHMARK_CAPTURE(BM_GeluTanhGlu, avx2, "avx2");
BENCHMARK_CAPTURE(BM_GeluTanhGlu, reference, "reference");

}  // namespace
}  // namespace tonnage
