// Steps of a whole program. The decoder has the default model's 30 layers; at its full width a step
// shows what the kernels do together, at a tiny width what launches, forks and the queue cost.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "graph/builder.h"
#include "graph/rewrite.h"

namespace tonnage {
namespace {

struct Width {
  std::int64_t hidden;
  int heads;
  int kv_heads;
  std::int64_t ff;
  std::int64_t vocab;
};
constexpr Width kWidths[] = {{576, 9, 3, 1536, 49152}, {64, 1, 1, 64, 64}};
constexpr int kLayers = 30;
constexpr int kHeadDim = 64;
constexpr std::int64_t kContext = 2048;
constexpr std::int64_t kMaxRows = 512;

Graph Decoder(const Width& width) {
  GraphBuilder g;
  Scope outside = g.LeaveLayers("");
  Value x = g.Embed(outside["embed"], width.vocab, width.hidden);
  RopeAttrs rope{.head_dim = kHeadDim};
  for (int i = 0; i < kHeadDim / 2; ++i) {
    rope.inverse_frequency.push_back(std::pow(1e5f, -2.0f * static_cast<float>(i) / kHeadDim));
  }
  for (int layer = 0; layer < kLayers; ++layer) {
    const Scope w = g.BeginLayer(layer, "layers." + std::to_string(layer) + ".");
    Value h = g.RmsNorm(x, w["attention_norm"], 1e-5f);
    Value q = g.Linear(h, w["q"], width.heads * kHeadDim);
    Value k = g.Linear(h, w["k"], width.kv_heads * kHeadDim);
    const Value v = g.Linear(h, w["v"], width.kv_heads * kHeadDim);
    rope.heads = width.heads;
    q = g.Rope(q, rope);
    rope.heads = width.kv_heads;
    k = g.Rope(k, rope);
    const Value a = g.Attention(q, k, v,
                                {.cache = layer,
                                 .heads = width.heads,
                                 .kv_heads = width.kv_heads,
                                 .head_dim = kHeadDim,
                                 .v_dim = kHeadDim,
                                 .scale = 0.125f});
    x = g.Add(x, g.Linear(a, w["o"], width.hidden));
    h = g.RmsNorm(x, w["mlp_norm"], 1e-5f);
    const Value gated = g.SwiGlu(g.Linear(h, w["gate"], width.ff), g.Linear(h, w["up"], width.ff));
    x = g.Add(x, g.Linear(gated, w["down"], width.hidden));
  }
  outside = g.LeaveLayers("");
  x = g.RmsNorm(g.SelectRows(x), outside["norm"], 1e-5f);
  const Value logits = g.Linear(x, outside["embed"], width.vocab);  // tied
  return MergeLinears(std::move(g).Finish(logits));
}

// Loaded with weights of zeros: kernels take as long for them as for any others.
struct Loaded {
  Loaded(const Width& width, int threads)
      : budget(Bytes{8} << 30, 1000, "the bench"),
        allocator(&ledger, &budget),
        backend({.features = CpuFeatures::Detect(), .threads = threads}, allocator, ledger),
        graph(Decoder(width)) {
    cache.layers.assign(kLayers,
                        {.kv_heads = width.kv_heads, .k_dim = kHeadDim, .v_dim = kHeadDim});
    for (const WeightSpec& weight : graph.weights) {
      formats.push_back(
          Format::Of(weight.shape.rank() == 1 ? FormatKind::kF32 : FormatKind::kQ4_1));
    }
    spec = {.graph = &graph,
            .formats = formats,
            .cache = &cache,
            .cache_settings = {.context_tokens = kContext, .slots = 1, .max_slice_rows = kMaxRows},
            .limits = {.rows = kMaxRows, .logit_rows = 1},
            .precision = Precision::kFast};
    for (std::int32_t page = 0; page < kContext / kKvPageTokens; ++page) table.push_back(page);
  }

  Status Load() {
    ASSIGN_OR_RETURN(auto store, backend.MakeWeightStore(spec));
    for (size_t id = 0; id < graph.weights.size(); ++id) {
      const Shape& shape = graph.weights[id].shape;
      WeightView view{.format = formats[id], .k = shape[shape.rank() - 1]};
      view.n = shape.rank() == 1 ? 1 : shape[0];
      const std::vector<std::uint8_t> zeros(
          static_cast<size_t>(view.n * FormatRowBytes(view.format, view.k)->Total()));
      view.data = zeros.data();
      RETURN_IF_ERROR(store->Store({static_cast<int>(id)}, 0, view));
    }
    ASSIGN_OR_RETURN(program, backend.MakeProgram(spec, std::move(store)));
    return {};
  }

  Status Step(std::int64_t first_position, std::int64_t rows) {
    tokens.assign(static_cast<size_t>(rows), 1);
    slots.assign(static_cast<size_t>(rows), 0);
    positions.clear();
    for (std::int64_t i = 0; i < rows; ++i) {
      positions.push_back(static_cast<std::int32_t>(first_position + i));
    }
    const std::int32_t last = static_cast<std::int32_t>(rows - 1);
    ASSIGN_OR_RETURN(const Event event, backend.Submit(*program, {.tokens = tokens,
                                                                  .positions = positions,
                                                                  .slots = slots,
                                                                  .logit_rows = {&last, 1},
                                                                  .page_table = table}));
    return backend.Wait(event);
  }

  Ledger ledger;
  Budget budget;
  HostAllocator allocator;
  CpuBackend backend;
  Graph graph;
  CacheLayout cache;
  std::vector<Format> formats;
  ProgramSpec spec;
  std::vector<std::int32_t> table, tokens, positions, slots;
  std::unique_ptr<Program> program;
};

void BM_Step(benchmark::State& state) {
  Loaded loaded(kWidths[state.range(0)], static_cast<int>(state.range(1)));
  const std::int64_t rows = state.range(2);
  if (const Status status = loaded.Load(); !status.ok()) {
    return state.SkipWithError(status.error().message().c_str());
  }
  std::int64_t position = 0;
  for (auto _ : state) {
    if (!loaded.Step(position, rows).ok()) return state.SkipWithError("the step failed");
    position = rows == 1 ? (position + 1) % 512 : 0;
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Step)
    ->ArgNames({"width", "threads", "rows"})
    ->Args({1, 1, 1})
    ->Args({1, 2, 1})
    ->Args({0, 1, 1})
    ->Args({0, 2, 1})
    ->Args({0, 1, 512})
    ->Args({0, 2, 512})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tonnage
