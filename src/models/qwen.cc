#include "models/qwen.h"

namespace tonnage {

std::vector<std::int64_t> ReadQwenWindows(ConfigReader& r, int layers) {
  const bool slides = r.BoolOr("use_sliding_window", false);
  const std::int64_t window = slides ? r.IntOr("sliding_window", 4096, kContextRange) : 0;
  const std::int64_t first = r.IntOr("max_window_layers", 28, {0, kContextRange.max});
  return ReadWindows(r, layers, window, [&](int layer) { return slides && layer >= first; });
}

Value QwenNormedAttention(GraphBuilder& g, const DecoderConfig& c, const Scope& w, int layer,
                          Value h, bool bias) {
  Value q = g.Linear(h, w["self_attn.q_proj"], c.q_width(), bias);
  Value k = g.Linear(h, w["self_attn.k_proj"], c.kv_width(), bias);
  const Value v = g.Linear(h, w["self_attn.v_proj"], c.kv_width(), bias);
  q = g.Rope(g.HeadNorm(q, w["self_attn.q_norm"], c.head_dim, c.norm_eps), c.q_rope());
  k = g.Rope(g.HeadNorm(k, w["self_attn.k_norm"], c.head_dim, c.norm_eps), c.k_rope());
  const Value a = g.Attention(q, k, v, c.attention(layer));
  return g.Linear(a, w["self_attn.o_proj"], c.hidden, bias);
}

}  // namespace tonnage
