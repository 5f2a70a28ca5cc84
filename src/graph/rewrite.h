// Rewrites that make a graph faster and compute the same. Model files know of none of them.
#pragma once

#include "graph/graph.h"

namespace tonnage {

// Linear nodes of one layer that read the same value become one node with several outputs, so that
// the value is read (and, for integer kernels, quantized) once: q with k and v, gate with up.
Graph MergeLinears(Graph graph);

}  // namespace tonnage
