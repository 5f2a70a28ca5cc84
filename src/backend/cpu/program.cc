#include "backend/cpu/program.h"

#include "backend/cpu/launch_list.h"

namespace tonnage {

CpuProgram::CpuProgram(const ProgramSpec& spec, CpuPlan plan, StepQueue& queue)
    : plan_(std::move(plan)), queue_(queue), checker_(StepBoundsOf(spec, plan_)) {
  const auto logits = static_cast<size_t>(spec.graph->logits.id);
  vocab_ = spec.graph->values[logits].width;
  logits_offset_ = plan_.arena.offsets[logits];
}

Result<std::unique_ptr<CpuProgram>> CpuProgram::Make(const ProgramSpec& spec, CpuPlan plan,
                                                     const KernelSet& kernels, Allocator& allocator,
                                                     std::unique_ptr<CpuWeightStore> weights,
                                                     StepQueue& queue) {
  RETURN_IF_ERROR(weights->CheckComplete(plan.weights));
  std::unique_ptr<CpuProgram> program(new CpuProgram(spec, std::move(plan), queue));
  const CpuPlan& sizes = program->plan_;
  program->weights_ = std::move(weights);
  ASSIGN_OR_RETURN(program->kv_, allocator.Allocate(Owner::kKv, sizes.kv_bytes));
  ASSIGN_OR_RETURN(program->arena_, allocator.Allocate(Owner::kArena, sizes.arena.arena_bytes));
  ASSIGN_OR_RETURN(program->workspace_,
                   allocator.Allocate(Owner::kWorkspace, sizes.workspace.total));
  program->launches_ = MakeLaunchList(spec, sizes, *program->weights_, kernels,
                                      {.kv = program->kv_.data(),
                                       .arena = program->arena_.data(),
                                       .workspace = program->workspace_.data()});
  return program;
}

CpuProgram::~CpuProgram() { queue_.Wait(last_); }

std::span<const float> CpuProgram::logits() const {
  return {reinterpret_cast<const float*>(arena_.data() + logits_offset_),
          static_cast<size_t>(size_.logit_rows * vocab_)};
}

Result<Event> CpuProgram::Submit(const StepInputs& inputs) {
  queue_.Wait(last_);
  RETURN_IF_ERROR(checker_.Check(inputs));
  CopyInputs(inputs, plan_.workspace, workspace_.data());
  size_ = {.rows = static_cast<std::int64_t>(inputs.tokens.size()),
           .logit_rows = static_cast<std::int64_t>(inputs.logit_rows.size())};
  last_ = queue_.Push(this);
  return last_;
}

void CpuProgram::Run(ThreadPool& pool) {
  for (const auto& launch : launches_) launch->Run(size_, pool);
}

}  // namespace tonnage
