// Qwen3 with experts: Qwen3's attention; in most layers the MLP is the top_k of many, weighted by
// the softmax over all. Source: the family's implementation in transformers.

#include <algorithm>

#include "models/architectures.h"
#include "models/qwen.h"

namespace tonnage {
namespace {

struct Qwen3MoeConfig : DecoderConfig {
  bool attention_bias = false;  // on q, k, v and o
  RouteAttrs route = {};
  std::int64_t expert_intermediate = 0;
  std::vector<bool> has_experts = {};  // [layers]; the others have a dense MLP
};

std::vector<bool> ReadExpertLayers(ConfigReader& r, int layers) {
  const std::int64_t step = r.IntOr("decoder_sparse_step", 1, {1, kLayersRange.max});
  const std::vector<std::int64_t> dense = r.Ints("mlp_only_layers", {0, kLayersRange.max});
  std::vector<bool> has_experts;
  for (int i = 0; i < layers; ++i) {
    const bool is_dense = std::ranges::find(dense, i) != dense.end();
    has_experts.push_back(!is_dense && (i + 1) % step == 0);
  }
  return has_experts;
}

RouteAttrs ReadRoute(ConfigReader& r) {
  // Newer configs say num_local_experts.
  const std::string_view key = r.Has("num_experts") ? "num_experts" : "num_local_experts";
  RouteAttrs route = {};
  route.experts = static_cast<int>(r.Int(key, kExpertsRange));
  route.top_k = static_cast<int>(r.Int("num_experts_per_tok", {1, route.experts}));
  route.normalize = r.BoolOr("norm_topk_prob", false);
  return route;
}

Result<Qwen3MoeConfig> Parse(const Json& json) {
  ASSIGN_OR_RETURN(DecoderConfig shared, ParseDecoderConfig(json, {}));
  Qwen3MoeConfig c{std::move(shared)};
  ConfigReader r(json);
  c.attention_bias = r.BoolOr("attention_bias", false);
  c.route = ReadRoute(r);
  c.expert_intermediate = r.Int("moe_intermediate_size", kWidthRange);
  c.has_experts = ReadExpertLayers(r, c.layers);
  if (r.BoolOr("use_sliding_window", false)) {  // here it means every layer
    c.windows.assign(c.windows.size(), r.IntOr("sliding_window", 4096, kContextRange));
  }
  RETURN_IF_ERROR(r.status());
  return c;
}

Value ExpertsMlp(GraphBuilder& g, const Qwen3MoeConfig& c, const Scope& w, Value h) {
  const Routing routing = g.Route(g.Linear(h, w["gate"], c.route.experts), c.route);
  const auto experts = [&](Value x, std::string_view name, std::int64_t n, bool per_expert) {
    return g.ExpertLinear(x, routing, w.Inner("experts.")[name], n, per_expert);
  };
  const Value gate = experts(h, "gate_proj", c.expert_intermediate, false);
  const Value up = experts(h, "up_proj", c.expert_intermediate, false);
  return g.ExpertSum(experts(g.SwiGlu(gate, up), "down_proj", c.hidden, true), routing);
}

Value Layer(GraphBuilder& g, const Qwen3MoeConfig& c, const Scope& w, int layer, Value x) {
  Value h = g.RmsNorm(x, w["input_layernorm"], c.norm_eps);
  x = g.Add(x, QwenNormedAttention(g, c, w, layer, h, c.attention_bias));
  h = g.RmsNorm(x, w["post_attention_layernorm"], c.norm_eps);
  const Scope mlp = w.Inner("mlp.");
  return g.Add(x, c.has_experts[static_cast<size_t>(layer)]
                      ? ExpertsMlp(g, c, mlp, h)
                      : SwiGluMlp(g, mlp, h, c, /*bias=*/false));
}

}  // namespace

Result<Model> BuildQwen3Moe(const Json& config) {
  ASSIGN_OR_RETURN(const Qwen3MoeConfig c, Parse(config));
  return BuildDecoder(c, [&](GraphBuilder& g, const Scope& w, int layer, Value x) {
    return Layer(g, c, w, layer, x);
  });
}

}  // namespace tonnage
