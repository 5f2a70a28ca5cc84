// The kernels that a backend runs on the host's processor: one row of every family's table, chosen
// once from the processor's features. Matmul kernels are chosen weight by weight, in plan.h.
#pragma once

#include <string>

#include "base/cpu_features.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/moe/moe.h"
#include "kernels/norm/norm.h"
#include "kernels/rope/rope.h"

namespace tonnage {

struct KernelSet {
  CpuFeatures features;
  // The name of a variant, or empty: every family that has it uses it.
  std::string forced;
  const NormKernel* norm = nullptr;
  const RopeKernel* rope = nullptr;
  const ElementwiseKernel* elementwise = nullptr;
  const AttentionKernel* attention = nullptr;
  const MoeKernel* moe = nullptr;
};

inline KernelSet SelectKernels(const CpuFeatures& features, const std::string& forced) {
  return {.features = features,
          .forced = forced,
          .norm = &SelectKernel(NormKernels(), features, forced),
          .rope = &SelectKernel(RopeKernels(), features, forced),
          .elementwise = &SelectKernel(ElementwiseKernels(), features, forced),
          .attention = &SelectKernel(AttentionKernels(), features, forced),
          .moe = &SelectKernel(MoeKernels(), features, forced)};
}

}  // namespace tonnage
