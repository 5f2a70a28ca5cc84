// One weight from the format that a checkpoint keeps it in to another, a block of rows at a time,
// so that no more than a block is ever held. What holds it comes from an allocator, and goes back
// after each weight: with a pool, the next one's is there already. Rows are converted in parallel;
// the sink is called on the caller's thread, in the order of the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "memory/buffer.h"
#include "models/weight_source.h"
#include "quant/pack.h"

namespace tonnage {

struct Conversion {
  const WeightSource* source = nullptr;
  Format format;  // what comes out; its groups fit the rows
  PackOptions options;
  // Not 0: the rows of every head stand in pairs (2i, 2i + 1), as GGUF has them for llama, and come
  // out in halves (i, i + head_dim / 2). Of a vector, its elements.
  std::int64_t turned_head_dim = 0;
};

// Some rows that came out, one part after the other; parts that the format lacks are empty.
struct ConvertedRows {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::span<const std::uint8_t> data, scales, biases;
};
using RowSink = std::function<Status(const ConvertedRows&)>;

Status Convert(const Conversion& conversion, ThreadPool& pool, Allocator& memory,
               const RowSink& sink);

}  // namespace tonnage
