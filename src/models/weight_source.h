// Where each weight of a graph lies in a checkpoint. One weight may be gathered from several
// tensors (a matrix an expert), or be some rows of one (gate and up stored together); spellings of
// Hugging Face, MLX and GGUF are resolved here, so that nobody else knows of them. A weight is read
// in blocks of rows, none larger than a layer has room for. Borrows the checkpoint, which must
// outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "graph/graph.h"
#include "quant/format.h"

namespace tonnage {

// Rows of one tensor, seen as [rows of all experts, k].
struct WeightPiece {
  const WeightInfo* tensor = nullptr;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

// Some rows of a weight, all of one piece: whole matrices, or a part of one that begins at a
// multiple of kBlockRows within it.
struct WeightBlock {
  const WeightInfo* tensor = nullptr;
  std::int64_t tensor_row = 0;  // the first, in the tensor
  std::int64_t first_row = 0;   // the same, in the weight
  std::int64_t rows = 0;

  // What Read needs: nothing when the tensor keeps rows as they are read.
  Bytes staging_bytes() const { return PackedStagingBytes(tensor->Tensors(), rows); }
  // The rows as one matrix, borrowed from the checkpoint or, converted, from `staging`.
  WeightView Read(std::span<std::uint8_t> staging) const {
    return ReadPackedRows(tensor->Tensors(), tensor_row, rows, staging);
  }
  // The rows' bytes in the files will be read soon.
  void Prefetch() const;
  // Their pages leave this process's memory.
  void Release() const;
};

inline constexpr std::int64_t kBlockRows = 128;
// A block has no more bytes than this, if so few rows can be cut off.
inline constexpr Bytes kBlockBytes = 16 * kMiB;

struct WeightSource {
  Shape shape;                           // [k], [n, k] or [experts, n, k]
  Format format = {};                    // of every piece
  std::vector<WeightPiece> pieces = {};  // their rows, one after the other, are the weight's

  // Bytes of the whole weight in its format.
  Bytes bytes() const { return rows() * row_bytes(); }
  Bytes row_bytes() const;
  // Of all experts.
  std::int64_t rows() const;
  // Every row once, in order.
  std::vector<WeightBlock> Blocks() const;
  // The most that one of its blocks needs.
  Bytes staging_bytes() const;
};

// A source for every weight of the graph, by WeightId. A weight that is missing, cannot be read or
// has another shape is an error that names the tensor and both shapes.
Result<std::vector<WeightSource>> ResolveWeights(const Graph& graph, const Checkpoint& checkpoint);

// Tensors that no source reads: allowed, but worth telling.
std::vector<const WeightInfo*> UnusedTensors(const Checkpoint& checkpoint,
                                             std::span<const WeightSource> sources);

}  // namespace tonnage
