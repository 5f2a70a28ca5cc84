// Mistral: pre-norm, grouped-query attention behind one window for all layers (older models) or
// none, SwiGLU, no biases. Source: the family's implementation in transformers.

#include "models/architectures.h"
#include "models/decoder.h"

namespace tonnage {
namespace {

Result<DecoderConfig> Parse(const Json& json) {
  ASSIGN_OR_RETURN(DecoderConfig c, ParseDecoderConfig(json, {}));
  ConfigReader r(json);
  // Absent means the first model's window; null means none.
  if (!json.contains("sliding_window") || r.Has("sliding_window")) {
    const std::int64_t window = r.IntOr("sliding_window", 4096, kContextRange);
    c.windows.assign(c.windows.size(), window);
  }
  RETURN_IF_ERROR(r.status());
  return c;
}

Value Layer(GraphBuilder& g, const DecoderConfig& c, const Scope& w, int layer, Value x) {
  Value h = g.RmsNorm(x, w["input_layernorm"], c.norm_eps);
  const Value q = g.Linear(h, w["self_attn.q_proj"], c.q_width());
  const Value k = g.Linear(h, w["self_attn.k_proj"], c.kv_width());
  const Value v = g.Linear(h, w["self_attn.v_proj"], c.kv_width());
  const Value a = g.Attention(g.Rope(q, c.q_rope()), g.Rope(k, c.k_rope()), v, c.attention(layer));
  x = g.Add(x, g.Linear(a, w["self_attn.o_proj"], c.hidden));
  h = g.RmsNorm(x, w["post_attention_layernorm"], c.norm_eps);
  return g.Add(x, SwiGluMlp(g, w.Inner("mlp."), h, c, /*bias=*/false));
}

}  // namespace

Result<Model> BuildMistral(const Json& config) {
  ASSIGN_OR_RETURN(const DecoderConfig c, Parse(config));
  return BuildDecoder(c, [&](GraphBuilder& g, const Scope& w, int layer, Value x) {
    return Layer(g, c, w, layer, x);
  });
}

}  // namespace tonnage
