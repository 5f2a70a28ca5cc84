// The config.json of a folder that is written, in the words that mlx-lm reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "models/open.h"
#include "tensor/dtype.h"

namespace tonnage {

// The source's config, with `quantization` (null for none) in the place of its own, and what
// newer configs say of RoPE and experts in the older words beside the newer. Unsupported where the
// older words cannot say it.
Result<Json> MlxConfig(const OpenedModel& model, const Json& quantization);

// What the config says that the model is computed in.
std::optional<DType> ConfigDType(const Json& config);

// The size of the heads whose pairs have to be turned into halves in this weight; 0 for most.
std::int64_t TurnedHeadDim(const OpenedModel& model, std::string_view weight);

}  // namespace tonnage
