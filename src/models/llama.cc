// Llama (1 to 3.3, and the many models of its shape): pre-norm, grouped-query attention, SwiGLU,
// biases where the config has them. Source: the family's implementation in transformers.

#include "models/architectures.h"
#include "models/decoder.h"

namespace tonnage {
namespace {

struct LlamaConfig : DecoderConfig {
  bool attention_bias = false;  // on q, k, v and o
  bool mlp_bias = false;
};

Result<LlamaConfig> Parse(const Json& json) {
  ASSIGN_OR_RETURN(DecoderConfig shared, ParseDecoderConfig(json, {}));
  LlamaConfig c{std::move(shared)};
  ConfigReader r(json);
  c.attention_bias = r.BoolOr("attention_bias", false);
  c.mlp_bias = r.BoolOr("mlp_bias", false);
  RETURN_IF_ERROR(r.status());
  return c;
}

Value Layer(GraphBuilder& g, const LlamaConfig& c, const Scope& w, int layer, Value x) {
  Value h = g.RmsNorm(x, w["input_layernorm"], c.norm_eps);
  const Value q = g.Linear(h, w["self_attn.q_proj"], c.q_width(), c.attention_bias);
  const Value k = g.Linear(h, w["self_attn.k_proj"], c.kv_width(), c.attention_bias);
  const Value v = g.Linear(h, w["self_attn.v_proj"], c.kv_width(), c.attention_bias);
  const Value a = g.Attention(g.Rope(q, c.q_rope()), g.Rope(k, c.k_rope()), v, c.attention(layer));
  x = g.Add(x, g.Linear(a, w["self_attn.o_proj"], c.hidden, c.attention_bias));
  h = g.RmsNorm(x, w["post_attention_layernorm"], c.norm_eps);
  return g.Add(x, SwiGluMlp(g, w.Inner("mlp."), h, c, c.mlp_bias));
}

}  // namespace

Result<Model> BuildLlama(const Json& config) {
  ASSIGN_OR_RETURN(const LlamaConfig c, Parse(config));
  return BuildDecoder(c, [&](GraphBuilder& g, const Scope& w, int layer, Value x) {
    return Layer(g, c, w, layer, x);
  });
}

}  // namespace tonnage
