// Plans as JSON: what `tonnage plan --json` prints and a server's /plan answers.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "engine/loader.h"

namespace tonnage {

// {"model", "budget_bytes", "budget_source", "budget_buffers", "buffers_source", "plans": [a row a
// plan]}. A row has the settings, every term as "<term>_bytes", the total, the buffers, and whether
// it fits; where it does not, the tightest term or "buffers", the nearest settings that do, and a
// message.
Json PlanJson(std::string_view model, const Available& available, std::span<const LoadPlan> plans);

}  // namespace tonnage
