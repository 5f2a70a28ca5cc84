// Embedding lookup: y[r, :] = table[tokens[r], :] * scale. The table lies in whatever layout its
// matmul kernel chose, so one copy serves a tied output layer too.
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace tonnage {

struct EmbedArgs {
  const std::int32_t* tokens = nullptr;  // [rows], each in [0, table->n)
  const PackedWeight* table = nullptr;   // [vocab, width]
  float* y = nullptr;                    // [rows, width]
  float scale = 1.0f;
};

// Rows [begin, end).
void Embed(const EmbedArgs& args, std::int64_t begin, std::int64_t end);

}  // namespace tonnage
