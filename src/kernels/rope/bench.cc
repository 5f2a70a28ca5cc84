// Rotation of rows that stay in the cache, in bytes read and written a second, and the table.
#include <benchmark/benchmark.h>

#include "kernels/rope/rope.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

constexpr std::int64_t kRows = 16;

void BM_Rope(benchmark::State& state, const char* name, bool is_interleaved) {
  const RopeKernel* kernel = FindKernel(RopeKernels(), name);
  if (kernel == nullptr) return state.SkipWithError("this processor cannot run it");
  const std::int64_t heads = 9, head_dim = state.range(0);
  const auto x = RandomFloats(kRows * heads * head_dim, 1);
  const auto table = RandomFloats(kRows * head_dim, 2);
  std::vector<float> y(x.size());
  const RopeArgs args{.x = x.data(),
                      .table = table.data(),
                      .y = y.data(),
                      .heads = heads,
                      .head_dim = head_dim,
                      .pairs = head_dim / 2};
  const auto function = is_interleaved ? kernel->interleaved : kernel->half_split;
  for (auto _ : state) function(args, 0, kRows);
  state.SetBytesProcessed(state.iterations() * kRows * heads * head_dim * 8);
}
BENCHMARK_CAPTURE(BM_Rope, avx512_half_split, "avx512", false)->Arg(64)->Arg(128);
BENCHMARK_CAPTURE(BM_Rope, avx512_interleaved, "avx512", true)->Arg(64)->Arg(128);
BENCHMARK_CAPTURE(BM_Rope, avx2_half_split, "avx2", false)->Arg(64)->Arg(128);
BENCHMARK_CAPTURE(BM_Rope, reference_half_split, "reference", false)->Arg(64)->Arg(128);

void BM_RopeTable(benchmark::State& state) {
  constexpr std::int64_t kPairs = 32;
  const std::vector<std::int32_t> positions(kRows, 123456);
  const auto frequencies = RandomFloats(kPairs, 1);
  std::vector<float> table(kRows * 2 * kPairs);
  for (auto _ : state) {
    FillRopeTable({.positions = positions.data(),
                   .inverse_frequency = frequencies.data(),
                   .pairs = kPairs,
                   .table = table.data()},
                  0, kRows);
  }
  state.SetItemsProcessed(state.iterations() * kRows * kPairs);
}
BENCHMARK(BM_RopeTable);

}  // namespace
}  // namespace tonnage
