// Decode against the bytes of keys and values that it must read, prefill against multiply-adds.
#include <benchmark/benchmark.h>

#include "kernels/attention/attention.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

struct Work {
  Work(const AttentionKernel& kernel, const AttentionShape& shape, DType dtype, std::int64_t rows,
       std::int64_t tokens, int threads)
      : pool(threads),
        q(RandomFloats(rows * shape.heads * shape.k_dim, 1)),
        k(RandomFloats(rows * shape.kv_heads * shape.k_dim, 2)),
        v(RandomFloats(rows * shape.kv_heads * shape.v_dim, 3)),
        out(static_cast<size_t>(rows * shape.heads * shape.v_dim)),
        pages_per_slot(CeilDiv(tokens, kAttentionPageTokens)),
        cache(pages_per_slot * PageElements(shape) * DTypeBytes(dtype)),
        workspace(kernel.workspace_bytes(
            shape, {.rows = rows, .context_tokens = tokens, .threads = threads})),
        slots(static_cast<size_t>(rows), 0) {
    for (std::int64_t row = tokens - rows; row < tokens; ++row) {
      positions.push_back(static_cast<std::int32_t>(row));
    }
    for (std::int64_t page = 0; page < pages_per_slot; ++page) {
      table.push_back(static_cast<std::int32_t>(page));
    }
    args.shape = shape;
    args.cache = {.pages = cache.span().data(),
                  .dtype = dtype,
                  .pages_per_slot = pages_per_slot,
                  .page_table = table.data()};
    args.q = q.data();
    args.k = k.data();
    args.v = v.data();
    args.out = out.data();
    args.rows = args.max_rows = rows;
    args.positions = positions.data();
    args.slots = slots.data();
  }

  ThreadPool pool;
  std::vector<float> q, k, v, out;
  std::int64_t pages_per_slot;
  AlignedBytes cache, workspace;
  std::vector<std::int32_t> positions, slots, table;
  AttentionArgs args;
};

// The shapes of SmolLM2-135M, Llama-3.2-1B and Llama-3.1-8B.
constexpr AttentionShape kShapes[] = {
    {.heads = 9, .kv_heads = 3, .k_dim = 64, .v_dim = 64, .scale = 0.125f},
    {.heads = 32, .kv_heads = 8, .k_dim = 64, .v_dim = 64, .scale = 0.125f},
    {.heads = 32, .kv_heads = 8, .k_dim = 128, .v_dim = 128, .scale = 0.088f}};

void Attend(benchmark::State& state, const char* name, DType dtype, std::int64_t rows,
            std::int64_t tokens) {
  const AttentionKernel* kernel = FindKernel(AttentionKernels(), name);
  if (kernel == nullptr) return state.SkipWithError("this processor cannot run it");
  const AttentionShape& shape = kShapes[state.range(0)];
  Work work(*kernel, shape, dtype, rows, tokens, static_cast<int>(state.range(1)));
  for (auto _ : state) kernel->run(work.args, work.workspace.span(), work.pool);
  const double seen = static_cast<double>(rows) * static_cast<double>(2 * tokens - rows + 1) / 2;
  const double pair = static_cast<double>(shape.heads * (shape.k_dim + shape.v_dim));
  state.counters["FLOP/s"] =
      benchmark::Counter(2 * seen * pair, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["KV bytes/s"] = benchmark::Counter(
      static_cast<double>(tokens * shape.kv_heads * (shape.k_dim + shape.v_dim) *
                          DTypeBytes(dtype)),
      benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1024);
}

void BM_Decode(benchmark::State& state, const char* name, DType dtype) {
  Attend(state, name, dtype, 1, state.range(2));
}
void BM_Prefill(benchmark::State& state, const char* name, DType dtype) {
  Attend(state, name, dtype, state.range(2), state.range(2));
}

void DecodeArgs(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"shape", "threads", "tokens"})->UseRealTime();
  for (int shape : {0, 2}) {
    for (int threads : {1, 2}) {
      for (int tokens : {128, 8192, 65536}) bench->Args({shape, threads, tokens});
    }
  }
}
void PrefillArgs(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"shape", "threads", "tokens"})->UseRealTime();
  for (int shape : {0, 1, 2}) {
    for (int threads : {1, 2}) bench->Args({shape, threads, 512});
  }
}

BENCHMARK_CAPTURE(BM_Decode, avx512_f16, "avx512", DType::kF16)->Apply(DecodeArgs);
BENCHMARK_CAPTURE(BM_Decode, avx512_f32, "avx512", DType::kF32)->Apply(DecodeArgs);
BENCHMARK_CAPTURE(BM_Decode, avx2_f16, "avx2", DType::kF16)->Apply(DecodeArgs);
BENCHMARK_CAPTURE(BM_Prefill, avx512_f16, "avx512", DType::kF16)->Apply(PrefillArgs);
BENCHMARK_CAPTURE(BM_Prefill, avx2_f16, "avx2", DType::kF16)->Apply(PrefillArgs);

}  // namespace
}  // namespace tonnage
