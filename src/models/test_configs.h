// Small configs of every architecture, for tests.
#pragma once

#include <string_view>

#include "base/json.h"

namespace tonnage {

// Hidden 64, 2 layers, 4 heads over 2, head_dim 16, vocab 32.
inline Json TestConfig(std::string_view model_type) {
  Json config{
      {"model_type", model_type}, {"num_hidden_layers", 2},         {"hidden_size", 64},
      {"intermediate_size", 96},  {"num_attention_heads", 4},       {"num_key_value_heads", 2},
      {"vocab_size", 32},         {"max_position_embeddings", 512}, {"head_dim", 16},
      {"rms_norm_eps", 1e-6},     {"tie_word_embeddings", false}};
  if (model_type == "qwen3_moe") {
    config["num_experts"] = 4;
    config["num_experts_per_tok"] = 2;
    config["moe_intermediate_size"] = 32;
  }
  return config;
}

}  // namespace tonnage
