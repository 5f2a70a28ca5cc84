// Elementwise work on rows:
//   add:  y[r, i] = a[r, i] + b[r, i]
//   glu:  y[r, i] = act(gate[r, i]) * up[r, i], with
//         silu(z) = z / (1 + exp(-z)) and
//         gelu_tanh(z) = z / 2 * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 z^3)))
//   select rows: y[r, :] = x[index[r], :]
// The output may be one of the inputs, except for select rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/variant.h"

namespace tonnage {

struct AddArgs {
  const float* a = nullptr;  // [rows, width]
  const float* b = nullptr;  // [rows, width]
  float* y = nullptr;        // [rows, width]
  std::int64_t width = 0;
};

struct GluArgs {
  const float* gate = nullptr;  // [rows, width]
  const float* up = nullptr;    // [rows, width]
  float* y = nullptr;           // [rows, width]
  std::int64_t width = 0;
};

struct SelectRowsArgs {
  const float* x = nullptr;             // [source rows, width]
  const std::int32_t* index = nullptr;  // [rows]
  float* y = nullptr;                   // [rows, width]
  std::int64_t width = 0;
};
// Rows [begin, end) of y.
void SelectRows(const SelectRowsArgs& args, std::int64_t begin, std::int64_t end);

struct ElementwiseKernel {
  std::string_view name;
  CpuLevel level;
  // Rows [begin, end).
  void (*add)(const AddArgs& args, std::int64_t begin, std::int64_t end);
  void (*silu_glu)(const GluArgs& args, std::int64_t begin, std::int64_t end);
  void (*gelu_tanh_glu)(const GluArgs& args, std::int64_t begin, std::int64_t end);
};

std::span<const ElementwiseKernel> ElementwiseKernels();

namespace reference {
void Add(const AddArgs& args, std::int64_t begin, std::int64_t end);
void SiluGlu(const GluArgs& args, std::int64_t begin, std::int64_t end);
void GeluTanhGlu(const GluArgs& args, std::int64_t begin, std::int64_t end);
}  // namespace reference

}  // namespace tonnage
