// Qwen3: pre-norm, grouped-query attention with RMSNorm on each head's q and k, SwiGLU. Source: the
// family's implementation in transformers.

#include "models/architectures.h"
#include "models/qwen.h"

namespace tonnage {
namespace {

struct Qwen3Config : DecoderConfig {
  bool attention_bias = false;  // on q, k, v and o
};

Result<Qwen3Config> Parse(const Json& json) {
  ASSIGN_OR_RETURN(DecoderConfig shared, ParseDecoderConfig(json, {.head_dim = 128}));
  Qwen3Config c{std::move(shared)};
  ConfigReader r(json);
  c.attention_bias = r.BoolOr("attention_bias", false);
  c.windows = ReadQwenWindows(r, c.layers);
  RETURN_IF_ERROR(r.status());
  return c;
}

Value Layer(GraphBuilder& g, const Qwen3Config& c, const Scope& w, int layer, Value x) {
  Value h = g.RmsNorm(x, w["input_layernorm"], c.norm_eps);
  x = g.Add(x, QwenNormedAttention(g, c, w, layer, h, c.attention_bias));
  h = g.RmsNorm(x, w["post_attention_layernorm"], c.norm_eps);
  return g.Add(x, SwiGluMlp(g, w.Inner("mlp."), h, c, /*bias=*/false));
}

}  // namespace

Result<Model> BuildQwen3(const Json& config) {
  ASSIGN_OR_RETURN(const Qwen3Config c, Parse(config));
  return BuildDecoder(c, [&](GraphBuilder& g, const Scope& w, int layer, Value x) {
    return Layer(g, c, w, layer, x);
  });
}

}  // namespace tonnage
