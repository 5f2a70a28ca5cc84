// What a launch costs: fork, nothing to do, join. A step of the default model has about 180 of
// them.
#include <benchmark/benchmark.h>

#include "base/thread_pool.h"

namespace tonnage {
namespace {

void BM_ForkJoin(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    pool.Run(state.range(1), [](std::int64_t i) { benchmark::DoNotOptimize(i); });
  }
}
BENCHMARK(BM_ForkJoin)
    ->ArgNames({"threads", "tasks"})
    ->Args({2, 2})
    ->Args({2, 8})
    ->Args({2, 64})
    ->Args({4, 16})
    ->Args({8, 32})
    ->Args({16, 16})
    ->Args({16, 96})
    ->UseRealTime();

}  // namespace
}  // namespace tonnage
