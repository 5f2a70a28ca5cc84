// What a step costs, by arithmetic on its nodes: operations, and bytes that must move even with
// perfect caches. The planner, simulated devices and benches compare with it. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "graph/graph.h"
#include "quant/format.h"
#include "tensor/dtype.h"

namespace tonnage {

struct Cost {
  double operations = 0;   // floating-point; a multiply-add is two
  Bytes weight_bytes = 0;  // read
  Bytes value_bytes = 0;   // activations, read and written
  Bytes cache_bytes = 0;   // keys and values, read and written

  Bytes TotalBytes() const { return weight_bytes + value_bytes + cache_bytes; }
  Cost& operator+=(const Cost& other);
};

// One step, as far as costs depend on it.
struct CostStep {
  StepLimits rows;                  // that the step really has
  std::int64_t sequences = 1;       // whose rows they are; each one's cache is read once
  std::int64_t context_tokens = 0;  // of each sequence, the step's own included
  std::span<const Format> formats;  // of the weights, by WeightId
  DType kv_dtype = DType::kF16;
};

Cost NodeCost(const Graph& graph, const Node& node, const CostStep& step);
Cost GraphCost(const Graph& graph, const CostStep& step);

}  // namespace tonnage
