// The CPU as a backend: vector kernels chosen from the features that it is given, one thread pool,
// and a queue thread that runs the steps. See backend/backend.h for who may call what. Programs and
// weight stores end before their backend.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/host/kernel_set.h"
#include "backend/host/step_queue.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"

namespace tonnage {

struct CpuBackendOptions {
  CpuFeatures features;
  int threads = 1;  // that work on a step
  // The name of a kernel variant, such as "reference", that every family shall use that has it;
  // empty for the best.
  std::string kernel = {};
  // The threads stay on these processors, one each, the first of them the queue's; empty leaves
  // them to the system.
  std::vector<int> processors = {};
};

class CpuBackend final : public Backend {
 public:
  // `allocator`, and `ledger` to which it reports, outlive the backend.
  CpuBackend(const CpuBackendOptions& options, Allocator& allocator, const Ledger& ledger);

  DeviceId device() const override { return {DeviceKind::kCpu, 0}; }
  const Ledger& ledger() const override { return ledger_; }

  Result<ProgramPrice> Price(const ProgramSpec& spec) const override;
  Result<std::unique_ptr<WeightStore>> MakeWeightStore(const ProgramSpec& spec) override;
  Result<std::unique_ptr<Program>> MakeProgram(const ProgramSpec& spec,
                                               std::unique_ptr<WeightStore> weights) override;
  Result<Event> Submit(Program& program, const StepInputs& inputs) override;
  Status Wait(Event event) override;

 private:
  Allocator& allocator_;
  const Ledger& ledger_;
  KernelSet kernels_;

  // The threads, which the first load starts: prices need none, and what cannot have them can still
  // be told what it would take.
  struct Workers {
    Workers(int threads, const std::vector<int>& processors)
        : pool(threads, processors),
          queue(processors.empty() ? std::nullopt : std::optional(processors.front())) {}
    ThreadPool pool;
    std::mutex pool_mutex;  // held by whoever runs jobs on the pool
    StepQueue queue;        // last: its thread uses the above
  };
  Workers& StartedWorkers();

  const int threads_;
  const std::vector<int> processors_;
  std::once_flag started_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace tonnage
