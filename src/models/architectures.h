// The architectures that can be built: one Build function each, in the file of its name. Each takes
// a config.json of its model_type, checks all of it, and then builds.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "models/model.h"

namespace tonnage {

Result<Model> BuildLlama(const Json& config);
Result<Model> BuildMistral(const Json& config);
Result<Model> BuildSmolLm3(const Json& config);
Result<Model> BuildQwen2(const Json& config);
Result<Model> BuildQwen3(const Json& config);
Result<Model> BuildQwen3Moe(const Json& config);

struct Architecture {
  std::string_view model_type;
  Result<Model> (*build)(const Json& config);
};

// The row of that model_type, or nullptr.
const Architecture* FindArchitecture(std::string_view model_type);

}  // namespace tonnage
