// A checkpoint written anew in another format: a folder as MLX keeps them, or a GGUF file. Weights
// stream through in blocks of rows, which `memory` holds, whose sizes change from weight to weight
// and come again in each layer. What is written lies under a name of its own until it is whole,
// and takes its place in one rename.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "convert/recipe.h"
#include "memory/buffer.h"
#include "models/open.h"
#include "quant/pack.h"
#include "tensor/dtype.h"

namespace tonnage {

struct ConvertHooks {
  // Called with the bytes written, of all.
  std::function<void(Bytes done, Bytes total)> progress = {};
};

struct MlxOptions {
  // How matrices are quantized; nothing writes them as numbers of `dtype`.
  std::optional<QuantRule> rule = std::nullopt;
  Recipe recipe = Recipe::kUniform;
  PackProfile profile = PackProfile::kMlxCpu;
  // Of affine scales and biases; by default that of the weight's source.
  std::optional<DType> scale_dtype = std::nullopt;
  // Of what is not quantized; by default that of the source.
  std::optional<DType> dtype = std::nullopt;
  Bytes shard_bytes = 5 * kGiB;
};

// What was written, and what the user should know about it.
struct ConvertReport {
  Bytes bytes = 0;
  double bits_per_weight = 0;
  std::vector<std::string> notes;
};

// Writes the model that was opened from `source` into the folder `target`, which must not be there
// unless `replace`. Unavailable, with the numbers, where the disk has not enough room.
Result<ConvertReport> WriteMlxFolder(const OpenedModel& model, const std::filesystem::path& source,
                                     const std::filesystem::path& target, bool replace,
                                     const MlxOptions& options, ThreadPool& pool, Allocator& memory,
                                     const ConvertHooks& hooks);

// Writes a GGUF file with the metadata of the GGUF file that `model` was opened from, and matrices
// in `type` (Q4_0, Q8_0, Q4_K, Q6_K, F16, BF16, F32) where their rows are whole blocks of it.
Result<ConvertReport> WriteGguf(const OpenedModel& model, const std::filesystem::path& target,
                                bool replace, const GgmlType& type, ThreadPool& pool,
                                Allocator& memory, const ConvertHooks& hooks);

}  // namespace tonnage
