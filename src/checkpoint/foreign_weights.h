// Quantized layers as other quantizers than MLX's keep them in safetensors, as weights: AutoAWQ and
// GPTQ, block-scaled FP8, gpt-oss's MXFP4 and compressed-tensors' NVFP4. Everything borrows the
// files' bytes.
#pragma once

#include <optional>

#include "base/result.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_table.h"
#include "checkpoint/weights.h"

namespace tonnage {

// What one tensor is in a layer of the configured method: the one that stands for the weight, one
// that goes with it, or none of its business.
struct ForeignTensor {
  bool belongs = false;
  std::optional<WeightInfo> weight = std::nullopt;
};
Result<ForeignTensor> ReadForeignTensor(const SafetensorsTensor& tensor, const TensorTable& table,
                                        const QuantizationConfig& quantization);

}  // namespace tonnage
