// Models that are still on a hub, as `plan` and `pull` meet them.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "checkpoint/hub/headers.h"
#include "checkpoint/hub/hub.h"
#include "checkpoint/hub/repository.h"
#include "cli/command.h"
#include "cli/runtime.h"

namespace tonnage::cli {

// The hub that the environment names, with the token of HF_TOKEN or of Hugging Face's own log-in.
hub::Settings HubSettings(const Environment& environment);

// The repository as a line for people: "org/name at 1a2b3c4: 12 files, 8.1 GiB".
std::string Describe(const hub::Repository& repository);

// What planning needs of a model on a hub, and a model opened from it: enough to plan a load, and
// nothing to load.
Result<hub::HeaderFolder> FetchHeaders(const hub::Repository& repository,
                                       const Environment& environment);
Result<std::unique_ptr<Runtime>> OpenHeaders(const hub::HeaderFolder& headers,
                                             const ModelOptions& options,
                                             const Environment& environment);

// Opens a model for planning: on disk or in the store, else its headers on the hub.
Result<std::unique_ptr<Runtime>> OpenForPlan(const ModelOptions& options,
                                             const Environment& environment);

}  // namespace tonnage::cli
