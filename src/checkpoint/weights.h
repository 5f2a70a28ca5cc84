// Tensors as files name them, turned into weights as models see them: shapes outermost first,
// storage types as formats, and the three tensors of an MLX quantized layer as one weight.
// Everything borrows the files' bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/gguf.h"
#include "checkpoint/packing.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/safetensors.h"
#include "quant/format.h"

namespace tonnage {

struct WeightInfo {
  std::string name;  // an MLX quantized layer's is `X.weight`, like an unquantized one's
  Format format;
  Shape shape;              // logical, outermost first: [k], [n, k] or [experts, n, k]
  std::string stored_as;    // the file's own word for the type: "BF16", "Q4_1", "affine 4-bit g64"
  std::string unsupported;  // why it cannot be used, naming the weight; empty if it can, and only
                            // then format is meant
  std::span<const std::uint8_t> data, scales, biases;
  Packing packing;  // how the spans above become rows of the format

  // In the files.
  Bytes bytes() const { return static_cast<Bytes>(data.size() + scales.size() + biases.size()); }

  // For usable weights. A scalar is one row of one; a vector is one row.
  std::int64_t RowElements() const;  // k
  std::int64_t Rows() const;         // experts * n
  PackedTensors Tensors() const;
  // The weight as the file has it, which must be in rows. Of a rank of four, the outer two count as
  // experts.
  WeightView View() const;
};

// Both give the weights in the order of their names.
std::vector<WeightInfo> WeightsFromGguf(std::span<const Gguf> parts);
// `tensors` are in the order of their names, which are unique.
Result<std::vector<WeightInfo>> WeightsFromSafetensors(std::span<const SafetensorsTensor> tensors,
                                                       const QuantizationConfig& quantization);

}  // namespace tonnage
