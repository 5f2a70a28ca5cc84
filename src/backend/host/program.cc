#include "backend/host/program.h"

#include <algorithm>
#include <cstring>

#include "backend/host/launch_list.h"
#include "base/check.h"

namespace tonnage {

Result<ProgramBuffers> ProgramBuffers::Allocate(const HostPlan& plan, Allocator& allocator) {
  ProgramBuffers buffers;
  ASSIGN_OR_RETURN(buffers.kv, allocator.Allocate(Owner::kKv, plan.kv_bytes));
  ASSIGN_OR_RETURN(buffers.arena, allocator.Allocate(Owner::kArena, plan.arena.arena_bytes));
  ASSIGN_OR_RETURN(buffers.workspace, allocator.Allocate(Owner::kWorkspace, plan.workspace.total));
  // How much of it a kernel touches depends on the shapes it meets: whoever was quoted all of it
  // has all of it, now rather than in the middle of a prompt.
  std::memset(buffers.workspace.data(), 0, static_cast<size_t>(plan.workspace.total));
  return buffers;
}

HostProgram::HostProgram(const ProgramSpec& spec, ProgramParts parts, const KernelSet& kernels,
                         std::span<const NodeRange> ranges, StepQueue& queue)
    : plan_(std::move(parts.plan)),
      queue_(queue),
      checker_(StepBoundsOf(spec, plan_)),
      weights_(std::move(parts.weights)),
      buffers_(std::move(parts.buffers)) {
  const auto logits = static_cast<size_t>(spec.graph->logits.id);
  vocab_ = spec.graph->values[logits].width;
  logits_offset_ = plan_.arena.offsets[logits];
  const ProgramMemory memory{.kv = buffers_.kv.data(),
                             .arena = buffers_.arena.data(),
                             .workspace = buffers_.workspace.data()};
  for (const NodeRange& range : ranges) {
    launches_.push_back(MakeLaunchList(spec, range, plan_, *weights_, kernels, memory));
  }
}

HostProgram::~HostProgram() { CHECK(queue_.Finished(last_)) << "a step outlives its program"; }

std::span<const float> HostProgram::logits() const {
  return {reinterpret_cast<const float*>(buffers_.arena.data() + logits_offset_),
          static_cast<size_t>(size_.logit_rows * vocab_)};
}

Result<Event> HostProgram::Submit(const StepInputs& inputs) {
  RETURN_IF_ERROR(queue_.Wait(last_));
  RETURN_IF_ERROR(checker_.Check(inputs));
  CopyInputs(inputs, plan_.workspace, buffers_.workspace.data());
  size_ = {.rows = static_cast<std::int64_t>(inputs.tokens.size()),
           .logit_rows = static_cast<std::int64_t>(inputs.logit_rows.size()),
           .decode_rows = inputs.decode_rows,
           .decode_logit_rows = std::ranges::lower_bound(inputs.logit_rows, inputs.decode_rows) -
                                inputs.logit_rows.begin()};
  Prepare(inputs);
  last_ = queue_.Push(*this);
  return last_;
}

void HostProgram::RunRange(size_t range, ThreadPool& pool) {
  for (const auto& launch : launches_[range]) launch->Run(size_, pool);
}

void HostProgram::Finish() { queue_.Drain(last_); }

}  // namespace tonnage
