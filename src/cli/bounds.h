// The least time that a model's work can take on a processor: operations over the rate of their
// arithmetic, bytes over the read bandwidth, whichever is longer. Operations and bytes are
// graph/cost.h's, rates those measured in the same run. Immutable; borrows the graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "graph/cost.h"
#include "kernels/peak/peak.h"
#include "tensor/precision.h"

namespace tonnage::cli {

struct BoundSettings {
  CpuFeatures features;
  Precision precision = Precision::kFast;
  DType kv_dtype = DType::kF16;
  std::string kernel = {};  // a matmul variant by name, or none
};

class Bounds {
 public:
  // `formats` of the weights, by WeightId.
  Bounds(const Graph& graph, std::vector<Format> formats, const BoundSettings& settings,
         Peaks peaks);

  const Peaks& peaks() const { return peaks_; }
  // Of a prompt of so many tokens.
  double PrefillSeconds(std::int64_t tokens) const;
  // Of a step that gives each of `sequences` a token, the last of `context_tokens`.
  double DecodeSeconds(std::int64_t sequences, std::int64_t context_tokens) const;
  // What the kernel of this node computes in, for rows of prompts or for those that decode.
  Arithmetic ArithmeticOf(const Node& node, bool prompt) const;

 private:
  CostStep Step(std::int64_t rows, std::int64_t logit_rows, std::int64_t context_tokens) const;
  double ComputeSeconds(const CostStep& step, bool prompt) const;
  double ReadSeconds(const CostStep& step) const;

  const Graph& graph_;
  const std::vector<Format> formats_;
  const BoundSettings settings_;
  const Peaks peaks_;
};

}  // namespace tonnage::cli
