#include "backend/sim/sim_program.h"

#include <algorithm>
#include <utility>

namespace tonnage {
namespace {

std::vector<NodeRange> RangesOf(std::span<const Submission> submissions) {
  std::vector<NodeRange> ranges;
  for (const Submission& submission : submissions) ranges.push_back(submission.nodes);
  return ranges;
}

}  // namespace

SimProgram::SimProgram(const ProgramSpec& spec, ProgramParts parts, const KernelSet& kernels,
                       SimSchedule schedule, StepQueue& queue, ThreadPool& pool)
    : HostProgram(spec, std::move(parts), kernels, RangesOf(schedule.submissions), queue),
      graph_(*spec.graph),
      formats_(spec.formats.begin(), spec.formats.end()),
      schedule_(std::move(schedule)),
      logit_row_bytes_(graph_.values[static_cast<size_t>(graph_.logits.id)].width *
                       DTypeBytes(DType::kF32)),
      pool_(pool) {
  step_.formats = formats_;
  step_.kv_dtype = spec.cache_settings.kv_dtype;
}

void SimProgram::Prepare(const StepInputs& inputs) {
  const auto rows = static_cast<std::int64_t>(inputs.tokens.size());
  step_.rows = {rows, static_cast<std::int64_t>(inputs.logit_rows.size())};
  step_.sequences = 1;
  for (size_t row = 1; row < inputs.slots.size(); ++row) {
    step_.sequences += inputs.slots[row] != inputs.slots[row - 1] ? 1 : 0;
  }
  step_.context_tokens = *std::ranges::max_element(inputs.positions) + 1;
  input_bytes_ = static_cast<Bytes>(inputs.tokens.size_bytes() + inputs.positions.size_bytes() +
                                    inputs.slots.size_bytes() + inputs.logit_rows.size_bytes() +
                                    inputs.page_table.size_bytes());
}

Work SimProgram::WorkOf(const NodeRange& range) const {
  Work work;
  for (size_t n = range.begin; n < range.end; ++n) {
    work += LaunchWork(NodeCost(graph_, graph_.nodes[n], step_), schedule_.kernels[n]->speed);
  }
  return work;
}

// In as many submissions as the limits ask for.
Status SimProgram::Copy(Bytes bytes) {
  SimDevice& device = *schedule_.devices[0];
  const DeviceSpeed& speed = device.profile().speed;
  const Bytes most = RowsPerCopy(1, speed, schedule_.copies);
  while (bytes > 0) {
    const Bytes taken = std::min(bytes, most);
    RETURN_IF_ERROR(device.Run(CopyWork(taken, speed), FaultPoint::kCopy));
    bytes -= taken;
  }
  return {};
}

Status SimProgram::RunStep() {
  RETURN_IF_ERROR(Copy(input_bytes_));
  size_t last_device = 0;
  for (size_t i = 0; i < schedule_.submissions.size(); ++i) {
    const auto& [range, index] = schedule_.submissions[i];
    SimDevice& device = *schedule_.devices[index];
    if (index != last_device) device.WaitFor(*schedule_.devices[last_device]);
    last_device = index;
    RETURN_IF_ERROR(device.Run(WorkOf(range), FaultPoint::kLaunch));
    RunRange(i, pool_);
  }
  return Copy(step_.rows.logit_rows * logit_row_bytes_);
}

}  // namespace tonnage
