// Where each weight of a graph lies in a checkpoint. One weight may be gathered from several
// tensors (a matrix an expert), or be some rows of one (gate and up stored together); spellings of
// Hugging Face, MLX and GGUF are resolved here, so that nobody else knows of them. Borrows the
// checkpoint, which must outlive it.
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

struct WeightSource {
  Shape shape;                           // [k], [n, k] or [experts, n, k]
  Format format = {};                    // of every piece
  std::vector<WeightPiece> pieces = {};  // their rows, one after the other, are the weight's

  // Bytes of the whole weight in its format.
  Bytes bytes() const;
  // What View needs to bring the pieces together: nothing when there is one.
  Bytes staging_bytes() const { return pieces.size() == 1 ? 0 : bytes(); }
  // The weight as one. Several pieces are copied into `staging`, which then must outlive the view.
  WeightView View(std::span<std::uint8_t> staging) const;
};

// A source for every weight of the graph, by WeightId. A weight that is missing, cannot be read or
// has another shape is an error that names the tensor and both shapes.
Result<std::vector<WeightSource>> ResolveWeights(const Graph& graph, const Checkpoint& checkpoint);

// Tensors that no source reads: allowed, but worth telling.
std::vector<const WeightInfo*> UnusedTensors(const Checkpoint& checkpoint,
                                             std::span<const WeightSource> sources);

}  // namespace tonnage
