// What the Qwen generations share beyond other decoders.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder.h"

namespace tonnage {

// With `use_sliding_window`, the layers from `max_window_layers` on slide, unless `layer_types`
// says otherwise.
std::vector<std::int64_t> ReadQwenWindows(ConfigReader& r, int layers);

// Grouped-query attention with an RMSNorm on each head of q and k: [rows, hidden] -> the same,
// after the output projection.
Value QwenNormedAttention(GraphBuilder& g, const DecoderConfig& c, const Scope& w, int layer,
                          Value h, bool bias);

}  // namespace tonnage
