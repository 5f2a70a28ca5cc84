// A program on a simulated device: the host's launch lists, a list a submission, and before each
// the device is told what it is asked for. Driven like any program; see backend/backend.h.
#pragma once

#include <span>
#include <vector>

#include "backend/host/program.h"
#include "backend/sim/device.h"
#include "backend/sim/kernel_cache.h"

namespace tonnage {

// How a graph's nodes run on devices.
struct SimSchedule {
  std::vector<SimDevice*> devices = {};
  std::vector<Submission> submissions = {};
  std::vector<const CompiledKernel*> kernels = {};  // by node
  SubmissionLimits copies = {};  // of steps' inputs and logits, on the first device
};

class SimProgram final : public HostProgram {
 public:
  SimProgram(const ProgramSpec& spec, ProgramParts parts, const KernelSet& kernels,
             SimSchedule schedule, StepQueue& queue, ThreadPool& pool);
  ~SimProgram() override { Finish(); }

  std::span<const CompiledKernel* const> kernels() const { return schedule_.kernels; }

 protected:
  void Prepare(const StepInputs& inputs) override;
  Status RunStep() override;

 private:
  Work WorkOf(const NodeRange& range) const;
  Status Copy(Bytes bytes);

  const Graph graph_;
  const std::vector<Format> formats_;  // by WeightId
  const SimSchedule schedule_;
  const Bytes logit_row_bytes_;
  ThreadPool& pool_;
  CostStep step_;  // that was prepared last
  Bytes input_bytes_ = 0;
};

}  // namespace tonnage
