// Qwen2 and Qwen2.5: pre-norm, grouped-query attention with biases on q, k and v (not on o),
// SwiGLU. Source: the family's implementation in transformers.

#include "models/architectures.h"
#include "models/qwen.h"

namespace tonnage {
namespace {

Result<DecoderConfig> Parse(const Json& json) {
  ASSIGN_OR_RETURN(DecoderConfig c, ParseDecoderConfig(json, {}));
  ConfigReader r(json);
  c.windows = ReadQwenWindows(r, c.layers);
  RETURN_IF_ERROR(r.status());
  return c;
}

Value Layer(GraphBuilder& g, const DecoderConfig& c, const Scope& w, int layer, Value x) {
  Value h = g.RmsNorm(x, w["input_layernorm"], c.norm_eps);
  const Value q = g.Linear(h, w["self_attn.q_proj"], c.q_width(), /*bias=*/true);
  const Value k = g.Linear(h, w["self_attn.k_proj"], c.kv_width(), /*bias=*/true);
  const Value v = g.Linear(h, w["self_attn.v_proj"], c.kv_width(), /*bias=*/true);
  const Value a = g.Attention(g.Rope(q, c.q_rope()), g.Rope(k, c.k_rope()), v, c.attention(layer));
  x = g.Add(x, g.Linear(a, w["self_attn.o_proj"], c.hidden));
  h = g.RmsNorm(x, w["post_attention_layernorm"], c.norm_eps);
  return g.Add(x, SwiGluMlp(g, w.Inner("mlp."), h, c, /*bias=*/false));
}

}  // namespace

Result<Model> BuildQwen2(const Json& config) {
  ASSIGN_OR_RETURN(const DecoderConfig c, Parse(config));
  return BuildDecoder(c, [&](GraphBuilder& g, const Scope& w, int layer, Value x) {
    return Layer(g, c, w, layer, x);
  });
}

}  // namespace tonnage
