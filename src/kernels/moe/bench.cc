// Routing in rows a second, and the sum of experts in bytes read and written a second.
#include <benchmark/benchmark.h>

#include "kernels/moe/moe.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kTopK = 8;

void BM_Route(benchmark::State& state, const char* name) {
  const MoeKernel* kernel = FindKernel(MoeKernels(), name);
  if (kernel == nullptr) return state.SkipWithError("this processor cannot run it");
  const std::int64_t experts = state.range(0);
  const auto logits = RandomFloats(kRows * experts, 1);
  std::vector<std::int32_t> ids(kRows * kTopK);
  std::vector<float> weights(kRows * kTopK);
  const RouteArgs args{.logits = logits.data(),
                       .ids = ids.data(),
                       .weights = weights.data(),
                       .experts = experts,
                       .top_k = kTopK};
  for (auto _ : state) kernel->route(args, 0, kRows);
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK_CAPTURE(BM_Route, avx512, "avx512")->Arg(64)->Arg(128);
BENCHMARK_CAPTURE(BM_Route, avx2, "avx2")->Arg(64)->Arg(128);
BENCHMARK_CAPTURE(BM_Route, reference, "reference")->Arg(64)->Arg(128);

void BM_ExpertSum(benchmark::State& state, const char* name) {
  const MoeKernel* kernel = FindKernel(MoeKernels(), name);
  if (kernel == nullptr) return state.SkipWithError("this processor cannot run it");
  const std::int64_t width = state.range(0);
  const auto x = RandomFloats(kRows * kTopK * width, 1);
  const auto weights = RandomFloats(kRows * kTopK, 2);
  std::vector<float> y(static_cast<size_t>(kRows * width));
  const ExpertSumArgs args{
      .x = x.data(), .weights = weights.data(), .y = y.data(), .top_k = kTopK, .width = width};
  for (auto _ : state) kernel->expert_sum(args, 0, kRows);
  state.SetBytesProcessed(state.iterations() * kRows * (kTopK + 1) * width * 4);
}
BENCHMARK_CAPTURE(BM_ExpertSum, avx512, "avx512")->Arg(2048);
BENCHMARK_CAPTURE(BM_ExpertSum, avx2, "avx2")->Arg(2048);
BENCHMARK_CAPTURE(BM_ExpertSum, reference, "reference")->Arg(2048);

}  // namespace
}  // namespace tonnage
