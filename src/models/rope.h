// Rotary position embeddings as configs describe them: the older spelling (`rope_theta` beside
// `rope_scaling`) and the newer (`rope_parameters`); the types default, linear, dynamic, llama3,
// yarn and longrope. Frequencies follow the definitions in transformers, in its float32 arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "graph/graph.h"

namespace tonnage {

struct RopeConfig {
  std::vector<float> inverse_frequency;  // [rotary_dim / 2]
  float magnitude = 1.0f;
  bool interleaved = false;
  std::int64_t context_limit = 0;  // the longest sequence, in tokens, that these frequencies serve

  RopeAttrs For(int heads, int head_dim) const {
    return {heads, head_dim, interleaved, inverse_frequency, magnitude};
  }
};

// `context_limit` is the config's max_position_embeddings. It stays the limit, except that
//   yarn serves up to original_max_position_embeddings * factor tokens,
//   longrope is served up to original_max_position_embeddings only, with its short factors: beyond
//     it all positions would turn by the long factors, in a sequence that has begun with the short.
// (dynamic changes nothing up to max_position_embeddings, so there it is the default type.)
// Two extensions that models/gguf.cc writes: the type `factors` divides each frequency by an
// element of its list `factors`, and a config with `rope_interleaved` turns pairs of neighbours.
Result<RopeConfig> ParseRope(const Json& config, int head_dim, std::int64_t context_limit,
                             double default_theta);

}  // namespace tonnage
