// A simulated device as a backend: real results by the portable kernels on a queue thread of its
// own, handed over in bounded submissions whose modelled time the device counts. See
// backend/backend.h for who may call what. Programs and weight stores end before their backend, and
// the backend before its devices.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/host/kernel_set.h"
#include "backend/host/plan.h"
#include "backend/host/step_queue.h"
#include "backend/sim/device.h"
#include "backend/sim/kernel_cache.h"
#include "base/thread_pool.h"

namespace tonnage {

struct SimBackendOptions {
  SubmissionLimits limits = {};  // of every submission to the device, those of a load included
  std::string kernel = {};       // a kernel variant by name, where a family has it
  // The layers before `helper_layers` run on this device too, within its own profile's limits. What
  // they need lies in the first device's memory, which both can reach.
  SimDevice* helper = nullptr;
  int helper_layers = 0;
};

// What the device would be asked for, as far as that is known before anything is loaded.
struct SimForecast {
  std::int64_t submissions = 0;  // of the largest step
  Work longest = {};             // of them, by time
  double longest_copy_ms = 0;    // of a load's; at most
  double watchdog_ms = kNoWatchdog;
  double decode_ms = 0;   // a step of one token at the end of a full context
  double prefill_ms = 0;  // the largest step
  std::int64_t prefill_rows = 0;
  bool killed = false;  // by the watchdog
};

class SimBackend final : public Backend {
 public:
  explicit SimBackend(SimDevice& device)
      : SimBackend(device, {.limits = device.profile().submission}) {}
  SimBackend(SimDevice& device, const SimBackendOptions& options);

  DeviceId device() const override { return device_.id(); }
  const Ledger& ledger() const override { return device_.ledger(); }

  Result<ProgramPrice> Price(const ProgramSpec& spec) const override;
  // Refused, naming the node or weight, when a piece of work is larger than a submission may be.
  Result<SimForecast> Forecast(const ProgramSpec& spec) const;
  // Refused likewise.
  Result<std::unique_ptr<WeightStore>> MakeWeightStore(const ProgramSpec& spec) override;
  Result<std::unique_ptr<Program>> MakeProgram(const ProgramSpec& spec,
                                               std::unique_ptr<WeightStore> weights) override;
  Result<Event> Submit(Program& program, const StepInputs& inputs) override;
  Status Wait(Event event) override;

  const KernelCache& kernel_cache() const { return cache_; }

 private:
  // By node of the graph: 0 is the device, 1 the helper.
  std::vector<size_t> Placement(const Graph& graph) const;
  std::vector<SubmissionDevice> SubmissionDevices() const;
  // Of the largest step; Refused when a piece of it, or of loading, fits into no submission.
  Result<std::vector<Submission>> Plan(const ProgramSpec& spec, const WeightPlan& weights) const;

  SimDevice& device_;
  const SimBackendOptions options_;
  const KernelSet kernels_;
  KernelCache cache_;

  // The threads, which the first load starts: prices need none.
  struct Workers {
    ThreadPool pool{1};  // the queue's thread alone
    std::mutex pool_mutex;
    StepQueue queue;  // last: its thread uses the above
  };
  Workers& StartedWorkers();
  std::once_flag started_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace tonnage
