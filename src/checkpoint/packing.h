// How the tensors that a file keeps for one weight become rows of its format. Most are such rows
// already; those of other quantizers than MLX's are turned a block of rows at a time.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "quant/format.h"

namespace tonnage {

struct Packing {
  enum class Kind : std::uint8_t {
    kRows,  // as the format says
    // 4-bit codes by columns, as AutoAWQ and GPTQ write them, for affine rows. w = (code - zero) *
    // scale becomes code * scale + bias with bias = -zero * scale, rounded to the scales' type.
    //   scales [k / group, n]; biases are the zeros: I32 [k / group, n / 8], or none: 8 everywhere
    //   kAwq:  data I32 [k, n / 8]; nibble i of a word is of column 0, 2, 4, 6, 1, 3, 5, 7 of its
    //          eight; so are the zeros
    //   kGptq: data I32 [k / 8, n]; nibble i is of row i of its eight; zeros in their natural order
    kAwq,
    kGptq,
    // FP8 rows with the scale of a block of rows stored once: scales [ceil(n / block_rows),
    // groups].
    kBlockScales,
    // NVFP4 rows whose factor is stored once a matrix: biases F32 [experts], the largest magnitude
    // in the matrix, of which the factor is 1 / 2688.
    kMatrixScale,
    // The same, stored as 1 over the factor.
    kInverseMatrixScale,
  };
  Kind kind = Kind::kRows;
  std::int64_t group = 0;        // kAwq, kGptq: elements of k that share a scale, whole groups of
                                 // the format
  int zero_offset = 0;           // kGptq: its first version stores zero - 1
  std::int64_t block_rows = 0;   // kBlockScales
  std::int64_t matrix_rows = 0;  // kMatrixScale, kInverseMatrixScale: rows of one expert

  bool rows_as_stored() const { return kind == Kind::kRows; }
};

// One weight's tensors in a file; their sizes fit what the packing says.
struct PackedTensors {
  Packing packing;
  Format format;       // of the rows that come out
  std::int64_t n = 0;  // rows, of all experts
  std::int64_t k = 0;
  std::span<const std::uint8_t> data, scales, biases;
};

// What `count` rows take in ReadPackedRows's staging.
Bytes PackedStagingBytes(const PackedTensors& tensors, std::int64_t count);

// Rows [first, first + count) in the tensors' format, which borrow the tensors and `staging`. Of
// kAwq and kGptq, first and count are multiples of 8.
WeightView ReadPackedRows(const PackedTensors& tensors, std::int64_t first, std::int64_t count,
                          std::span<std::uint8_t> staging);

}  // namespace tonnage
