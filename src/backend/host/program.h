// A program whose launches the host's processor computes, for whatever device they stand: the
// launch lists of a graph and the memory that they work on. What a step does with the lists, and
// what can go wrong in it, is the backend's. Driven by one thread through its backend; runs on the
// backend's queue thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/host/launch.h"
#include "backend/host/plan.h"
#include "backend/host/step_inputs.h"
#include "backend/host/step_queue.h"
#include "backend/host/weight_store.h"
#include "graph/submissions.h"

namespace tonnage {

struct ProgramBuffers {
  Buffer kv;
  Buffer arena;
  Buffer workspace;
  static Result<ProgramBuffers> Allocate(const HostPlan& plan, Allocator& allocator);
};

// Everything that a program is made of. `weights` are complete.
struct ProgramParts {
  HostPlan plan;
  std::unique_ptr<HostWeightStore> weights;
  ProgramBuffers buffers;
};

class HostProgram : public Program {
 public:
  // The last step must have ended: whoever derives from this ends its own destructor with Finish.
  ~HostProgram() override;

  std::span<const float> logits() const override;

  // Waits for the program's last step, takes the inputs and queues the next one.
  Result<Event> Submit(const StepInputs& inputs);

 protected:
  // `ranges` are all of the graph's nodes, in order. `queue` outlives the program.
  HostProgram(const ProgramSpec& spec, ProgramParts parts, const KernelSet& kernels,
              std::span<const NodeRange> ranges, StepQueue& queue);

  // Inputs that will run next, checked; while nothing of the program runs.
  virtual void Prepare(const StepInputs&) {}
  // One step, on the queue's thread: RunRange for each of the ranges.
  virtual Status RunStep() = 0;
  void RunRange(size_t range, ThreadPool& pool);
  const StepSize& size() const { return size_; }
  // Waits for what is still running.
  void Finish();

 private:
  friend class StepQueue;

  HostPlan plan_;
  StepQueue& queue_;
  StepInputChecker checker_;
  std::int64_t vocab_ = 0;  // the width of the logits
  Bytes logits_offset_ = 0;
  std::unique_ptr<HostWeightStore> weights_;
  ProgramBuffers buffers_;
  std::vector<std::vector<std::unique_ptr<Launch>>> launches_;  // by range
  StepSize size_;  // of the step that was submitted last
  Event last_;
};

}  // namespace tonnage
