// What decoder-only models share: the config fields that every family spells alike, and the frame
// around the layers. What differs is in each model's file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "graph/builder.h"
#include "models/config_reader.h"
#include "models/model.h"
#include "models/rope.h"

namespace tonnage {

struct DecoderConfig {
  std::string model_type;
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  // of a dense MLP
  std::int64_t vocab = 0;
  int heads = 0;
  int kv_heads = 0;  // divides heads
  int head_dim = 0;
  float norm_eps = 0;
  bool tied_embeddings = false;  // the head reads the embedding table
  RopeConfig rope;
  std::vector<std::int64_t> windows;  // [layers], tokens; 0 is full attention

  std::int64_t q_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_dim; }
  RopeAttrs q_rope() const { return rope.For(heads, head_dim); }
  RopeAttrs k_rope() const { return rope.For(kv_heads, head_dim); }
  // Scaled by head_dim^-0.5, with the layer's window.
  AttentionAttrs attention(int layer) const;
};

// What a family means by an absent key.
struct DecoderDefaults {
  bool tied_embeddings = false;
  int head_dim = 0;  // 0: hidden / heads
  double rope_theta = 10000.0;
};

// Bounds of what a config may ask for: far above any model that exists, and low enough that no
// product of a few overflows and that a hostile config costs little.
inline constexpr Range<std::int64_t> kLayersRange{1, 1024};
inline constexpr Range<std::int64_t> kHeadsRange{1, 4096};
inline constexpr Range<std::int64_t> kHeadDimRange{1, 4096};
inline constexpr Range<std::int64_t> kWidthRange{1, std::int64_t{1} << 20};
inline constexpr Range<std::int64_t> kVocabRange{1, std::int64_t{1} << 24};
inline constexpr Range<std::int64_t> kExpertsRange{1, 4096};
inline constexpr Range<std::int64_t> kContextRange{1, std::int64_t{1} << 30};

// Reads the shared fields; `windows` are all 0. An activation other than SiLU is refused.
Result<DecoderConfig> ParseDecoderConfig(const Json& config, const DecoderDefaults& defaults);

// The window of each layer. `layer_types` says which layers have one; where it is absent,
// `has_window` does. `sliding_window` is 0 where the config sets none.
std::vector<std::int64_t> ReadWindows(ConfigReader& r, int layers, std::int64_t sliding_window,
                                      const std::function<bool(int layer)>& has_window);

// One layer: x [rows, hidden] -> [rows, hidden], with its modules under w.
using DecoderLayer = std::function<Value(GraphBuilder& g, const Scope& w, int layer, Value x)>;

// Embedding, layers, final norm and head.
Model BuildDecoder(const DecoderConfig& c, const DecoderLayer& layer);

// down(silu(gate(h)) * up(h)), with the modules gate_proj, up_proj and down_proj of w.
Value SwiGluMlp(GraphBuilder& g, const Scope& w, Value h, const DecoderConfig& c, bool bias);

}  // namespace tonnage
