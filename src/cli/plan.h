// The table of `tonnage plan`, which `tonnage pull` shows too before it fetches a byte of weights.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "cli/runtime.h"

namespace tonnage::cli {

// Prints what a load would take at each context, or at the one that `options` names; Refused when
// not even the first of them fits.
Status ShowPlans(Runtime& runtime, const ModelOptions& options, bool json,
                 const Environment& environment);

}  // namespace tonnage::cli
