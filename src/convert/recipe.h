// Which module of a model is quantized how. The mixed recipes are those of mlx-lm's converter, by
// their names there; `mixed` is PLaMo's. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "checkpoint/quantization_config.h"

namespace tonnage {

enum class Recipe {
  kUniform,   // one rule, and routers in 8 bits
  kMixed3_4,  // v_proj and down_proj of the layers that matter most, and the head, in the higher
  kMixed3_6,  // width; everything else in the lower
  kMixed4_6,
  kMixed,  // MLPs in 4 bits, everything else in 8
};
Result<Recipe> ParseRecipe(std::string_view word);

// The rule of the module, of a model of `layers` layers, where `base` is what was asked for. The
// recipes other than kUniform take the mode and group of `base` and bits of their own.
QuantRule RuleOf(Recipe recipe, const QuantRule& base, std::string_view module,
                 std::int64_t layers);

}  // namespace tonnage
