#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <array>

#include "backend/host/plan.h"
#include "backend/host/program.h"
#include "backend/host/weight_store.h"

namespace tonnage {
namespace {

// A thread's stack, as far as it is used; measured (tests/quote_test.py holds the sum against a
// process).
constexpr Bytes kThreadBytes = 48 * kKiB;

class CpuProgram final : public HostProgram {
 public:
  // `pool` is used under `pool_mutex`.
  CpuProgram(const ProgramSpec& spec, ProgramParts parts, const KernelSet& kernels,
             StepQueue& queue, ThreadPool& pool, std::mutex& pool_mutex)
      : HostProgram(spec, std::move(parts), kernels,
                    std::array{NodeRange{0, spec.graph->nodes.size()}}, queue),
        pool_(pool),
        pool_mutex_(pool_mutex) {}
  ~CpuProgram() override { Finish(); }

 protected:
  Status RunStep() override {
    std::lock_guard lock(pool_mutex_);
    RunRange(0, pool_);
    return {};
  }

 private:
  ThreadPool& pool_;
  std::mutex& pool_mutex_;
};

}  // namespace

CpuBackend::CpuBackend(const CpuBackendOptions& options, Allocator& allocator, const Ledger& ledger)
    : allocator_(allocator),
      ledger_(ledger),
      kernels_(SelectKernels(options.features, options.kernel)),
      threads_(std::max(1, options.threads)),
      processors_(options.processors) {}

CpuBackend::Workers& CpuBackend::StartedWorkers() {
  std::call_once(started_, [this] { workers_ = std::make_unique<Workers>(threads_, processors_); });
  return *workers_;
}

Result<ProgramPrice> CpuBackend::Price(const ProgramSpec& spec) const {
  ASSIGN_OR_RETURN(const HostPlan plan, MakeHostPlan(spec, kernels_, threads_));
  ProgramPrice price = plan.Price(allocator_);
  price.runtime += threads_ * kThreadBytes;  // the workers' and the queue's
  return price;
}

Result<std::unique_ptr<WeightStore>> CpuBackend::MakeWeightStore(const ProgramSpec& spec) {
  ASSIGN_OR_RETURN(HostPlan plan, MakeHostPlan(spec, kernels_, threads_));
  Workers& workers = StartedWorkers();
  ASSIGN_OR_RETURN(auto store, HostWeightStore::Make(*spec.graph, std::move(plan.weights),
                                                     allocator_, workers.pool, workers.pool_mutex));
  return std::unique_ptr<WeightStore>(std::move(store));
}

Result<std::unique_ptr<Program>> CpuBackend::MakeProgram(const ProgramSpec& spec,
                                                         std::unique_ptr<WeightStore> weights) {
  if (dynamic_cast<HostWeightStore*>(weights.get()) == nullptr) {
    return Internal("the weights are not in the CPU's memory");
  }
  ProgramParts parts;
  parts.weights.reset(static_cast<HostWeightStore*>(weights.release()));
  ASSIGN_OR_RETURN(parts.plan, MakeHostPlan(spec, kernels_, threads_));
  RETURN_IF_ERROR(parts.weights->CheckComplete(parts.plan.weights));
  ASSIGN_OR_RETURN(parts.buffers, ProgramBuffers::Allocate(parts.plan, allocator_));
  Workers& workers = StartedWorkers();
  return std::unique_ptr<Program>(std::make_unique<CpuProgram>(
      spec, std::move(parts), kernels_, workers.queue, workers.pool, workers.pool_mutex));
}

Result<Event> CpuBackend::Submit(Program& program, const StepInputs& inputs) {
  return static_cast<CpuProgram&>(program).Submit(inputs);
}

Status CpuBackend::Wait(Event event) { return StartedWorkers().queue.Wait(event); }

}  // namespace tonnage
