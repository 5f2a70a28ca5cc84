// What config.json says about MLX quantization: which modules are quantized, and how. A module is a
// weight's name without its last part: `model.layers.0.mlp.up_proj`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tonnage {

struct QuantRule {
  std::string mode = "affine";
  std::int64_t bits = 4;
  std::int64_t group = 64;
  bool operator==(const QuantRule&) const = default;
};

class QuantizationConfig {
 public:
  // Reads `quantization`, or else `quantization_config`, of a config.json; one without either
  // quantizes nothing. Quantization methods other than MLX's are refused by name.
  static Result<QuantizationConfig> Parse(const Json& config);

  // How the module is quantized, or nothing if it is not. An explicit entry wins; otherwise it is
  // quantized if and only if its scales are in the checkpoint.
  std::optional<QuantRule> Rule(std::string_view module, bool has_scales) const;

 private:
  std::optional<QuantRule> default_;
  std::map<std::string, std::optional<QuantRule>, std::less<>> overrides_;
};

}  // namespace tonnage
