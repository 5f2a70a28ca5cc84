// Blocks of rows: since a quantization group never spans rows, any block of a weight's rows is a
// weight of its own.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "quant/format.h"

namespace tonnage {

// Rows [first, first + count) of the weight's [experts * n], as one matrix that borrows its bytes.
inline WeightView SliceRows(const WeightView& weight, std::int64_t first, std::int64_t count) {
  const std::optional<RowBytes> row = FormatRowBytes(weight.format, weight.k);
  CHECK(row.has_value()) << weight.format.Name() << " rows of " << weight.k;
  WeightView rows = weight;
  rows.experts = 1;
  rows.n = count;
  rows.data += first * row->data;
  if (row->scales > 0) rows.scales += first * row->scales;
  if (row->biases > 0) rows.biases += first * row->biases;
  return rows;
}

}  // namespace tonnage
