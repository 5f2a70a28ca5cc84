// SmolLM3: Llama's layer, but every n-th layer has no RoPE, and with `use_sliding_window` just
// those layers slide. Source: the family's implementation in transformers.

#include "models/architectures.h"
#include "models/decoder.h"

namespace tonnage {
namespace {

struct SmolLm3Config : DecoderConfig {
  bool attention_bias = false;  // on q, k, v and o
  bool mlp_bias = false;
  std::vector<bool> has_rope = {};  // [layers]
};

std::vector<bool> ReadRopeLayers(ConfigReader& r, int layers) {
  std::vector<bool> has_rope;
  if (!r.Has("no_rope_layers")) {
    const std::int64_t interval = r.IntOr("no_rope_layer_interval", 4, {1, kLayersRange.max});
    for (int i = 0; i < layers; ++i) has_rope.push_back((i + 1) % interval != 0);
    return has_rope;
  }
  // Despite its name, 1 marks a layer that has RoPE.
  for (std::int64_t flag : r.Ints("no_rope_layers", {0, 1})) has_rope.push_back(flag == 1);
  if (has_rope.size() < static_cast<size_t>(layers)) {
    r.Fail(Unreadable("`no_rope_layers` has {} elements for {} layers", has_rope.size(), layers));
  }
  has_rope.resize(static_cast<size_t>(layers));
  return has_rope;
}

Result<SmolLm3Config> Parse(const Json& json) {
  ASSIGN_OR_RETURN(DecoderConfig shared,
                   ParseDecoderConfig(json, {.tied_embeddings = true, .rope_theta = 2000000.0}));
  SmolLm3Config c{std::move(shared)};
  ConfigReader r(json);
  c.attention_bias = r.BoolOr("attention_bias", false);
  c.mlp_bias = r.BoolOr("mlp_bias", false);
  c.has_rope = ReadRopeLayers(r, c.layers);
  if (r.BoolOr("use_sliding_window", false)) {
    const bool has_window = r.Has("sliding_window");
    const std::int64_t window = has_window ? r.IntOr("sliding_window", 0, kContextRange) : 0;
    c.windows = ReadWindows(r, c.layers, window, [&](int layer) {
      return has_window && !c.has_rope[static_cast<size_t>(layer)];
    });
  }
  RETURN_IF_ERROR(r.status());
  return c;
}

Value Layer(GraphBuilder& g, const SmolLm3Config& c, const Scope& w, int layer, Value x) {
  Value h = g.RmsNorm(x, w["input_layernorm"], c.norm_eps);
  Value q = g.Linear(h, w["self_attn.q_proj"], c.q_width(), c.attention_bias);
  Value k = g.Linear(h, w["self_attn.k_proj"], c.kv_width(), c.attention_bias);
  const Value v = g.Linear(h, w["self_attn.v_proj"], c.kv_width(), c.attention_bias);
  if (c.has_rope[static_cast<size_t>(layer)]) {
    q = g.Rope(q, c.q_rope());
    k = g.Rope(k, c.k_rope());
  }
  const Value a = g.Attention(q, k, v, c.attention(layer));
  x = g.Add(x, g.Linear(a, w["self_attn.o_proj"], c.hidden, c.attention_bias));
  h = g.RmsNorm(x, w["post_attention_layernorm"], c.norm_eps);
  return g.Add(x, SwiGluMlp(g, w.Inner("mlp."), h, c, c.mlp_bias));
}

}  // namespace

Result<Model> BuildSmolLm3(const Json& config) {
  ASSIGN_OR_RETURN(const SmolLm3Config c, Parse(config));
  return BuildDecoder(c, [&](GraphBuilder& g, const Scope& w, int layer, Value x) {
    return Layer(g, c, w, layer, x);
  });
}

}  // namespace tonnage
