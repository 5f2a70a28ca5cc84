#include "models/decoder.h"

#include <cmath>
#include <utility>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

// Every supported family gates with SiLU, under either of its names.
void CheckActivation(ConfigReader& r) {
  const std::string activation = r.StringOr("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    r.Fail(Unsupported("`hidden_act` is {}; only silu is supported", Quoted(activation)));
  }
}

void ReadHeads(ConfigReader& r, int default_head_dim, DecoderConfig& c) {
  c.heads = static_cast<int>(r.Int("num_attention_heads", kHeadsRange));
  c.kv_heads = static_cast<int>(r.IntOr("num_key_value_heads", c.heads, kHeadsRange));
  if (c.heads % c.kv_heads != 0) {
    r.Fail(Unreadable("`num_attention_heads` is {}, no multiple of `num_key_value_heads`, {}",
                      c.heads, c.kv_heads));
  }
  if (r.Has("head_dim") || default_head_dim > 0) {
    c.head_dim = static_cast<int>(r.IntOr("head_dim", default_head_dim, kHeadDimRange));
  } else if (c.hidden % c.heads == 0 && c.hidden / c.heads <= kHeadDimRange.max) {
    c.head_dim = static_cast<int>(c.hidden / c.heads);
  } else {
    r.Fail(Unreadable("`hidden_size`, {}, over `num_attention_heads`, {}, gives no head dimension",
                      c.hidden, c.heads));
  }
}

}  // namespace

AttentionAttrs DecoderConfig::attention(int layer) const {
  return {.cache = layer,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .v_dim = head_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(head_dim)),
          .window = windows[static_cast<size_t>(layer)]};
}

Result<DecoderConfig> ParseDecoderConfig(const Json& config, const DecoderDefaults& defaults) {
  ConfigReader r(config);
  DecoderConfig c;
  c.model_type = r.StringOr("model_type", "");
  c.layers = static_cast<int>(r.Int("num_hidden_layers", kLayersRange));
  c.hidden = r.Int("hidden_size", kWidthRange);
  c.intermediate = r.Int("intermediate_size", kWidthRange);
  c.vocab = r.Int("vocab_size", kVocabRange);
  ReadHeads(r, defaults.head_dim, c);
  c.norm_eps = static_cast<float>(r.NumberOr("rms_norm_eps", 1e-6, {1e-20, 1}));
  c.tied_embeddings = r.BoolOr("tie_word_embeddings", defaults.tied_embeddings);
  const std::int64_t context_limit = r.Int("max_position_embeddings", kContextRange);
  CheckActivation(r);
  RETURN_IF_ERROR(r.status());
  c.windows.assign(static_cast<size_t>(c.layers), 0);
  ASSIGN_OR_RETURN(c.rope, ParseRope(config, c.head_dim, context_limit, defaults.rope_theta));
  return c;
}

std::vector<std::int64_t> ReadWindows(ConfigReader& r, int layers, std::int64_t sliding_window,
                                      const std::function<bool(int layer)>& has_window) {
  std::vector<std::int64_t> windows(static_cast<size_t>(layers), 0);
  const std::vector<std::string> types = r.Strings("layer_types");
  const bool has_types = r.Has("layer_types");
  if (has_types && types.size() != windows.size()) {
    r.Fail(Unreadable("`layer_types` has {} elements for {} layers", types.size(), layers));
    return windows;
  }
  for (size_t i = 0; i < windows.size(); ++i) {
    if (has_types && types[i] != "full_attention" && types[i] != "sliding_attention") {
      r.Fail(Unsupported("`layer_types` has {}; full_attention and sliding_attention are supported",
                         Quoted(types[i])));
    }
    const bool is_window =
        has_types ? types[i] == "sliding_attention" : has_window(static_cast<int>(i));
    if (!is_window) continue;
    if (sliding_window == 0) {
      r.Fail(Unreadable("layer {} slides its attention, but no `sliding_window` is set", i));
    }
    windows[i] = sliding_window;
  }
  return windows;
}

Model BuildDecoder(const DecoderConfig& c, const DecoderLayer& layer) {
  Model model;
  model.info = {.architecture = c.model_type,
                .layers = c.layers,
                .hidden = c.hidden,
                .vocab = c.vocab,
                .context_limit = c.rope.context_limit};
  for (std::int64_t window : c.windows) {
    model.cache.layers.push_back(
        {.kv_heads = c.kv_heads, .k_dim = c.head_dim, .v_dim = c.head_dim, .window = window});
  }
  GraphBuilder g;
  const Module table{"model.embed_tokens"};
  Value x = g.Embed(table, c.vocab, c.hidden);
  for (int i = 0; i < c.layers; ++i) {
    const Scope w = g.BeginLayer(i, fmt::format("model.layers.{}.", i));
    x = layer(g, w, i, x);
  }
  const Scope outside = g.LeaveLayers("");
  x = g.RmsNorm(g.SelectRows(x), outside["model.norm"], c.norm_eps);
  const Value logits = g.Linear(x, c.tied_embeddings ? table : outside["lm_head"], c.vocab);
  model.graph = std::move(g).Finish(logits);
  return model;
}

Value SwiGluMlp(GraphBuilder& g, const Scope& w, Value h, const DecoderConfig& c, bool bias) {
  const Value gate = g.Linear(h, w["gate_proj"], c.intermediate, bias);
  const Value up = g.Linear(h, w["up_proj"], c.intermediate, bias);
  return g.Linear(g.SwiGlu(gate, up), w["down_proj"], c.hidden, bias);
}

}  // namespace tonnage
