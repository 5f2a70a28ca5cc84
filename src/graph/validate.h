// The invariants of a graph: what the builder guarantees and every pass must keep. A violation is a
// fault of ours (Internal), never of a checkpoint: a model checks its config before it builds.
#pragma once

#include "base/result.h"
#include "graph/cache_layout.h"
#include "graph/graph.h"

namespace tonnage {

// One node: the number and kind of its operands, attributes that belong to its op, and widths,
// extents, dtypes and weight shapes that fit together. Its values and weights must exist.
Status ValidateNode(const Graph& graph, const Node& node);

// Every node; besides, each value has one origin that stands before its uses, attention layers use
// each cache of the layout as it is described there, and the logits are a value of the logit rows.
Status Validate(const Graph& graph, const CacheLayout& cache);

}  // namespace tonnage
