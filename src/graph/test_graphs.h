// A small graph that has every op, for tests of whatever reads graphs.
#pragma once

#include "graph/builder.h"
#include "graph/cache_layout.h"

namespace tonnage {

inline CacheLayout TestDecoderCache() {
  return {{{.kv_heads = 2, .k_dim = 8, .v_dim = 8, .window = 16},
           {.kv_heads = 2, .k_dim = 8, .v_dim = 8}}};
}

inline Value TestAttentionBlock(GraphBuilder& g, const Scope& w, int layer, Value x) {
  const LayerCache cache = TestDecoderCache().layers[static_cast<size_t>(layer)];
  const Value h = g.RmsNorm(x, w["norm"], 1e-5f);
  Value q = g.Linear(h, w["q"], 4 * 8, /*bias=*/true);
  Value k = g.Linear(h, w["k"], 2 * 8);
  const Value v = g.Linear(h, w["v"], 2 * 8);
  RopeAttrs rope{.heads = 4, .head_dim = 8, .inverse_frequency = {1.0f, 0.1f, 0.01f, 0.001f}};
  q = g.Rope(g.HeadNorm(q, w["q_norm"], 8, 1e-5f), rope);
  rope.heads = 2;
  k = g.Rope(k, rope);
  const Value a = g.Attention(q, k, v,
                              {.cache = layer,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_dim = 8,
                               .v_dim = 8,
                               .scale = 0.35f,
                               .window = cache.window},
                              layer == 0 ? w["sinks"].name : "");
  return g.Add(x, g.Linear(a, w["o"], 24));
}

// Hidden 24, two layers: a dense one behind a window, and one with 6 experts of which 2 are chosen.
inline Graph TestDecoder() {
  GraphBuilder g;
  Scope outside = g.LeaveLayers("");
  Value x = g.Embed(outside["embed"], 50, 24);

  Scope w = g.BeginLayer(0, "layers.0.");
  x = TestAttentionBlock(g, w, 0, x);
  Value h = g.RmsNorm(x, w["mlp_norm"], 1e-5f);
  x = g.Add(
      x, g.Linear(g.SwiGlu(g.Linear(h, w["gate"], 40), g.Linear(h, w["up"], 40)), w["down"], 24));

  w = g.BeginLayer(1, "layers.1.");
  x = TestAttentionBlock(g, w, 1, x);
  h = g.RmsNorm(x, w["mlp_norm"], 1e-5f);
  const Routing routing = g.Route(g.Linear(h, w["router"], 6), {.experts = 6, .top_k = 2});
  const Value gate = g.ExpertLinear(h, routing, w["gate_exps"], 16, false);
  const Value up = g.ExpertLinear(h, routing, w["up_exps"], 16, false);
  const Value y = g.ExpertLinear(g.SwiGlu(gate, up), routing, w["down_exps"], 24, true);
  x = g.Add(x, g.ExpertSum(y, routing));

  outside = g.LeaveLayers("");
  const Value rows = g.RmsNorm(g.SelectRows(x), outside["norm"], 1e-5f);
  const Value logits = g.Linear(rows, outside["embed"], 50);  // tied
  return std::move(g).Finish(logits);
}

}  // namespace tonnage
