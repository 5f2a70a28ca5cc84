// Routing to experts and summing what they gave.
//   route: p = softmax(logits[r, :]); ids[r, :] are the top_k largest p, largest first, ties to the
//          lower id; weights[r, j] = p[ids[r, j]], divided by their sum when `normalize`
//   sum:   y[r, :] = sum_j weights[r, j] * x[r, j, :], in order of j
// A row's result depends on that row alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/variant.h"

namespace tonnage {

struct RouteArgs {
  const float* logits = nullptr;  // [rows, experts]
  std::int32_t* ids = nullptr;    // [rows, top_k]
  float* weights = nullptr;       // [rows, top_k]
  std::int64_t experts = 0;
  std::int64_t top_k = 0;  // at most experts
  bool normalize = false;
};

struct ExpertSumArgs {
  const float* x = nullptr;        // [rows, top_k, width]
  const float* weights = nullptr;  // [rows, top_k]
  float* y = nullptr;              // [rows, width]
  std::int64_t top_k = 0;
  std::int64_t width = 0;
};

struct MoeKernel {
  std::string_view name;
  CpuLevel level;
  // Rows [begin, end).
  void (*route)(const RouteArgs& args, std::int64_t begin, std::int64_t end);
  void (*expert_sum)(const ExpertSumArgs& args, std::int64_t begin, std::int64_t end);
};

std::span<const MoeKernel> MoeKernels();

namespace reference {
void Route(const RouteArgs& args, std::int64_t begin, std::int64_t end);
void ExpertSum(const ExpertSumArgs& args, std::int64_t begin, std::int64_t end);
}  // namespace reference

}  // namespace tonnage
