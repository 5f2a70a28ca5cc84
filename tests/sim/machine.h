// A simulated device with its backend for scenario tests, and golden models loaded on it. What is
// loaded ends before its machine.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/sim/sim_backend.h"
#include "engine/loader.h"

namespace tonnage {

inline std::string GoldenModel(const std::string& name) {
  return TONNAGE_SOURCE_DIR "/tests/golden/models/" + name;
}

// An M1 whose rates are so much lower that a model of half a megabyte is to it what one of 2.4 GB
// is to the real one; its watchdog and limits in milliseconds stay.
inline SimProfile ScaledM1() {
  SimProfile profile = FindSimProfile("m1").value();
  constexpr double kScale = 2.4e9 / 450e3;
  profile.speed.operations_per_s /= kScale;
  profile.speed.bytes_per_s /= kScale;
  profile.speed.copy_bytes_per_s /= kScale;
  profile.context_bytes = 64 * kKiB;
  profile.memory_bytes = 8 * kMiB;
  return profile;
}

struct SimMachine {
  explicit SimMachine(const SimProfile& profile) : SimMachine(profile, profile.submission) {}
  SimMachine(const SimProfile& profile, const SubmissionLimits& limits)
      : device({.profile = profile}), backend(device, {.limits = limits}) {}

  Available available() const {
    const BudgetStatus status = device.budget().status();
    return {std::max<Bytes>(0, status.limit_bytes - status.used_bytes), device.budget().source()};
  }
  Result<LoadedModel> Load(const OpenedModel& model, const LoadSettings& settings) {
    return LoadModel(model, backend, device, settings, available());
  }
  Result<std::unique_ptr<Engine>> LoadEngine(const OpenedModel& model,
                                             const LoadSettings& settings) {
    ASSIGN_OR_RETURN(LoadedModel loaded, Load(model, settings));
    return std::make_unique<Engine>(std::move(loaded));
  }

  // The device's own count of what exists, the ledger and the budget agree.
  bool Balanced() const {
    return device.ledger().Total() == device.allocated_bytes() &&
           device.budget().used_bytes() == device.allocated_bytes() &&
           device.budget().used_buffers() >= device.allocated_buffers();
  }
  bool Empty() const {
    return Balanced() && device.allocated_bytes() == 0 && device.budget().used_buffers() == 0;
  }

  SimDevice device;
  SimBackend backend;
};

// How a generation ended, and how often it said so.
struct Outcome {
  std::vector<std::int32_t> tokens = {};
  int ends = 0;
  DoneEvent done = {};
};

inline void Take(const GenerationEvent& event, Outcome& outcome) {
  if (const auto* token = std::get_if<TokenEvent>(&event)) {
    outcome.tokens.push_back(token->token);
  } else {
    ++outcome.ends;
    outcome.done = std::get<DoneEvent>(event);
  }
}

inline Outcome Drain(Generation& generation) {
  Outcome outcome;
  while (auto event = generation.Next()) Take(*event, outcome);
  return outcome;
}

inline Request GreedyRequest(std::int64_t prompt_tokens, std::int64_t max_tokens) {
  std::vector<std::int32_t> prompt;
  for (std::int32_t i = 0; i < prompt_tokens; ++i) prompt.push_back((7 * i + 3) % 30);
  return {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = max_tokens};
}

}  // namespace tonnage
