// From an opened checkpoint to a model that can run: priced, judged against what is available, then
// loaded one weight at a time. What a plan says needs names and shapes only, not a byte of weights.
// Functions without state; a load is driven by one thread and cancelled from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "admission/quote.h"
#include "backend/backend.h"
#include "base/result.h"
#include "engine/engine.h"
#include "memory/buffer.h"
#include "models/open.h"
#include "tensor/precision.h"

namespace tonnage {

// The context that a load gets when nobody asks for one, if the model was trained for that much.
inline constexpr std::int64_t kDefaultContextTokens = 8192;

struct LoadSettings {
  std::optional<std::int64_t> context_tokens = std::nullopt;
  std::int64_t slots = 1;
  DType kv_dtype = DType::kF16;
  Precision precision = Precision::kFast;
  std::int64_t slice_rows = 512;  // the most tokens of a prompt that one step takes
  std::int64_t logit_rows = 0;    // rows of logits in a step, where more than the slots are wanted
  QueueLimits queue = {};
  // What the process holds and will hold of the host's memory beside the model, its engine and its
  // requests: the quote's runtime begins with it.
  Bytes process_bytes = 0;
};

// One row of `tonnage plan`.
struct LoadPlan {
  ServingSettings settings;
  Quote quote;
  std::optional<Refusal> refusal;
};

// What a load with these settings would hold on the backend's device, and whether it fits.
// InvalidArgument for settings that no budget could serve.
Result<LoadPlan> PlanLoad(const OpenedModel& model, const Backend& backend,
                          const LoadSettings& settings, const Available& available);

// The same for 8,192 tokens of context, twice that, and so on to the model's limit; only for the
// context that `settings` ask for, where they do.
Result<std::vector<LoadPlan>> PlanRungs(const OpenedModel& model, const Backend& backend,
                                        const LoadSettings& settings, const Available& available);

// Calls `use` with what a load with these settings would ask of the backend.
Status WithProgramSpec(const OpenedModel& model, const Backend& backend,
                       const LoadSettings& settings,
                       const std::function<Status(const ProgramSpec&)>& use);

struct LoadHooks {
  // Called once, before anything is taken, and also when the plan is refused.
  std::function<void(const LoadPlan&)> planned = {};
  // Called with the checkpoint's bytes that are in place, of all, and the weight that comes next.
  std::function<void(Bytes done, Bytes total, std::string_view weight)> progress = {};
  const std::atomic<bool>* cancelled = nullptr;
};

// Refused, with the plan's numbers, when it does not fit; Cancelled when asked to stop. `host`
// gives the staging memory; it and the backend outlive the loaded model, the opened one need not.
Result<LoadedModel> LoadModel(const OpenedModel& model, Backend& backend, Allocator& host,
                              const LoadSettings& settings, const Available& available,
                              const LoadHooks& hooks = {});

}  // namespace tonnage
