// Rewrites that make a graph faster and compute the same. Model files know of none of them.
#pragma once

#include "graph/graph.h"

namespace tonnage {

// All of them, in the order in which they help each other.
Graph Optimize(Graph graph);

// What only matters for rows whose logits are wanted is computed for those rows alone: SelectRows
// moves up to the last attention. In a step that prefills, most of the last layer falls away.
Graph SelectRowsEarly(Graph graph);

// Linear nodes of one layer that read the same value become one node with several outputs, so that
// the value is read (and, for integer kernels, quantized) once: q with k and v, gate with up. So do
// those of experts, whose rows are sorted once then.
Graph MergeLinears(Graph graph);

}  // namespace tonnage
