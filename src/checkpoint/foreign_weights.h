// Quantized layers as other quantizers than MLX's keep them in safetensors, as weights: AutoAWQ and
// GPTQ, block-scaled FP8, gpt-oss's MXFP4 and compressed-tensors' NVFP4. Everything borrows the
// files' bytes.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"

namespace tonnage {

// Tensors in the order of their names, found by name.
class TensorTable {
 public:
  explicit TensorTable(std::span<const SafetensorsTensor> tensors) : tensors_(tensors) {}
  std::span<const SafetensorsTensor> all() const { return tensors_; }
  // The tensor `module` + `suffix`, or nullptr.
  const SafetensorsTensor* Find(std::string_view module, std::string_view suffix = "") const {
    const std::string name = std::string(module) + std::string(suffix);
    const auto it = std::lower_bound(
        tensors_.begin(), tensors_.end(), name,
        [](const SafetensorsTensor& t, const std::string& n) { return t.name < n; });
    return it == tensors_.end() || it->name != name ? nullptr : &*it;
  }

 private:
  std::span<const SafetensorsTensor> tensors_;
};

// What one tensor is in a layer of the configured method: the one that stands for the weight, one
// that goes with it, or none of its business.
struct ForeignTensor {
  bool belongs = false;
  std::optional<WeightInfo> weight = std::nullopt;
};
Result<ForeignTensor> ReadForeignTensor(const SafetensorsTensor& tensor, const TensorTable& table,
                                        const QuantizationConfig& quantization);

}  // namespace tonnage
