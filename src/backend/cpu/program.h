// A program on the CPU: the launch list of a graph and the memory that it works on. Driven by one
// thread through its backend; runs on the backend's queue thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/launch.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/step_inputs.h"
#include "backend/cpu/step_queue.h"
#include "backend/cpu/weight_store.h"

namespace tonnage {

class CpuProgram final : public Program {
 public:
  // Allocates cache, arena and workspace. `queue` outlives the program.
  static Result<std::unique_ptr<CpuProgram>> Make(const ProgramSpec& spec, CpuPlan plan,
                                                  const KernelSet& kernels, Allocator& allocator,
                                                  std::unique_ptr<CpuWeightStore> weights,
                                                  StepQueue& queue);
  // Waits for what is still running.
  ~CpuProgram() override;

  std::span<const float> logits() const override;

  // Waits for the program's last step, takes the inputs and queues the next one.
  Result<Event> Submit(const StepInputs& inputs);
  // One step, on the calling thread and the pool.
  void Run(ThreadPool& pool);

 private:
  CpuProgram(const ProgramSpec& spec, CpuPlan plan, StepQueue& queue);

  CpuPlan plan_;
  StepQueue& queue_;
  StepInputChecker checker_;
  std::int64_t vocab_ = 0;  // the width of the logits
  Bytes logits_offset_ = 0;
  std::unique_ptr<CpuWeightStore> weights_;
  Buffer kv_;
  Buffer arena_;
  Buffer workspace_;
  std::vector<std::unique_ptr<Launch>> launches_;
  StepSize size_;  // of the step that was submitted last
  Event last_;
};

}  // namespace tonnage
