// The cost of choosing one token. Beside it stands what a decode step of a small model takes:
// about 3 ms for 135 million weights of 4 bits on two cores.
#include <benchmark/benchmark.h>

#include <cmath>

#include "engine/sampler.h"

namespace tonnage {
namespace {

void BM_Sample(benchmark::State& state, const SamplingParams& params) {
  const std::int64_t vocab = state.range(0);
  Random random(1);
  std::vector<float> logits;
  // Like a model's: a normal body of standard deviation 3 and a few tokens far above it.
  for (std::int64_t i = 0; i < vocab; ++i) {
    const double u = random.NextUnit() + 1e-12, v = random.NextUnit();
    logits.push_back(static_cast<float>(3 * std::sqrt(-2 * std::log(u)) * std::cos(6.2831853 * v)));
  }
  for (size_t i = 0; i < 20; ++i) logits[i * 997] += 10;
  SamplerScratch scratch(vocab);
  Sampler sampler(params, {}, 1, 1);
  for (auto _ : state) benchmark::DoNotOptimize(sampler.Next(logits, scratch).value());
  state.SetItemsProcessed(state.iterations() * vocab);
}

BENCHMARK_CAPTURE(BM_Sample, greedy, {.temperature = 0})->Arg(49152)->Arg(151936);
BENCHMARK_CAPTURE(BM_Sample, temperature, {.temperature = 0.8})->Arg(49152)->Arg(151936);
BENCHMARK_CAPTURE(BM_Sample, top_p, {.temperature = 0.7, .top_p = 0.95})->Arg(49152)->Arg(151936);
BENCHMARK_CAPTURE(BM_Sample, top_k_top_p, {.temperature = 0.8, .top_k = 40, .top_p = 0.9})
    ->Arg(49152)
    ->Arg(151936);
BENCHMARK_CAPTURE(BM_Sample, min_p, {.temperature = 1, .min_p = 0.05})->Arg(49152)->Arg(151936);

}  // namespace
}  // namespace tonnage
