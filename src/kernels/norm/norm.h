// RMSNorm over groups: y[r, g, i] = x[r, g, i] / sqrt(mean_i(x[r, g, i]^2) + eps) * (weight[i] +
// offset). The group is the whole row, or one head of it. A row's result depends on that row alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/variant.h"

namespace tonnage {

struct RmsNormArgs {
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [group]
  float* y = nullptr;             // [rows, width]; may be x
  std::int64_t width = 0;
  std::int64_t group = 0;  // divides width
  float eps = 1e-6f;
  float weight_offset = 0.0f;
};

struct NormKernel {
  std::string_view name;
  CpuLevel level;
  // Rows [begin, end).
  void (*rms_norm)(const RmsNormArgs& args, std::int64_t begin, std::int64_t end);
};

std::span<const NormKernel> NormKernels();

namespace reference {
void RmsNorm(const RmsNormArgs& args, std::int64_t begin, std::int64_t end);
}  // namespace reference

}  // namespace tonnage
