#include "backend/cpu/cpu_backend.h"

#include "backend/cpu/plan.h"
#include "backend/cpu/program.h"
#include "backend/cpu/weight_store.h"

namespace tonnage {

CpuBackend::CpuBackend(const CpuBackendOptions& options, Allocator& allocator, const Ledger& ledger)
    : allocator_(allocator),
      ledger_(ledger),
      kernels_(SelectKernels(options.features, options.kernel)),
      pool_(options.threads),
      queue_(pool_, pool_mutex_) {}

Result<ProgramPrice> CpuBackend::Price(const ProgramSpec& spec) const {
  ASSIGN_OR_RETURN(const CpuPlan plan, MakeCpuPlan(spec, kernels_, pool_.threads()));
  return ProgramPrice{.weights = plan.weights.Total(),
                      .kv = plan.kv_bytes,
                      .arena = plan.arena.arena_bytes,
                      .workspace = plan.workspace.total};
}

Result<std::unique_ptr<WeightStore>> CpuBackend::MakeWeightStore(const ProgramSpec& spec) {
  ASSIGN_OR_RETURN(CpuPlan plan, MakeCpuPlan(spec, kernels_, pool_.threads()));
  ASSIGN_OR_RETURN(auto store, CpuWeightStore::Make(*spec.graph, std::move(plan.weights),
                                                    allocator_, pool_, pool_mutex_));
  return std::unique_ptr<WeightStore>(std::move(store));
}

Result<std::unique_ptr<Program>> CpuBackend::MakeProgram(const ProgramSpec& spec,
                                                         std::unique_ptr<WeightStore> weights) {
  if (dynamic_cast<CpuWeightStore*>(weights.get()) == nullptr) {
    return Internal("the weights are not in the CPU's memory");
  }
  std::unique_ptr<CpuWeightStore> store(static_cast<CpuWeightStore*>(weights.release()));
  ASSIGN_OR_RETURN(CpuPlan plan, MakeCpuPlan(spec, kernels_, pool_.threads()));
  ASSIGN_OR_RETURN(auto program, CpuProgram::Make(spec, std::move(plan), kernels_, allocator_,
                                                  std::move(store), queue_));
  return std::unique_ptr<Program>(std::move(program));
}

Result<Event> CpuBackend::Submit(Program& program, const StepInputs& inputs) {
  return static_cast<CpuProgram&>(program).Submit(inputs);
}

Status CpuBackend::Wait(Event event) {
  if (!queue_.Knows(event)) return Internal("step {} was never submitted", event.sequence);
  queue_.Wait(event);
  return {};
}

}  // namespace tonnage
