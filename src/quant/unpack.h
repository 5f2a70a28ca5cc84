// The definition of every storage format: one scalar function from stored bytes to numbers, which
// packing, kernels and tests all answer to.
#pragma once

#include <cstdint>
#include <span>

#include "quant/format.h"

namespace tonnage {

// Writes row `row` (0 <= row < experts * n) of `weight` to out [k].
void UnpackRow(const WeightView& weight, std::int64_t row, std::span<float> out);

}  // namespace tonnage
