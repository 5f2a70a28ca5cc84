// GGUF in Hugging Face's terms: its metadata as a config.json, and the names of its tensors. So a
// model file knows one vocabulary of names only.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"

namespace tonnage {

// The tensor whose elements divide RoPE's frequencies (llama3 scaling).
inline constexpr std::string_view kGgufRopeFactors = "rope_freqs.weight";

// The config.json that describes the same model. Says what GGUF leaves to the reader: that llama's
// q and k stand permuted for RoPE on pairs of neighbours, and that embeddings without an `output`
// are tied. `checkpoint` must be a GGUF file. Unsupported, naming it, for an architecture that we
// do not have.
Result<Json> ConfigFromGguf(const Checkpoint& checkpoint);

// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight". A name without a counterpart stays
// as it is.
std::string GgufTensorName(std::string_view name);

}  // namespace tonnage
