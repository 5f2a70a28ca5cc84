// Checks one step's inputs against what its program was made for, so that no kernel meets an index
// that it cannot follow, and copies them to where the launches read them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/host/plan.h"

namespace tonnage {

struct StepBounds {
  StepLimits limits;
  std::int64_t vocab = 0;
  std::int64_t context_tokens = 0;
  std::int64_t slots = 0;
  std::int64_t max_slice_rows = 0;
  std::int64_t pages_per_slot = 0;  // 0 when no layer has a page table
};
StepBounds StepBoundsOf(const ProgramSpec& spec, const HostPlan& plan);

class StepInputChecker {
 public:
  explicit StepInputChecker(const StepBounds& bounds)
      : bounds_(bounds), seen_(static_cast<size_t>(bounds.slots)) {}

  // InvalidArgument, naming the row, for what the program cannot run. Allocates nothing on success.
  Status Check(const StepInputs& inputs);

 private:
  Status CheckSizes(const StepInputs& inputs) const;
  Status CheckRow(const StepInputs& inputs, size_t row) const;
  // The rows [begin, end) of one slot.
  Status CheckSequence(const StepInputs& inputs, size_t begin, size_t end);
  Status CheckLogitRows(const StepInputs& inputs) const;

  StepBounds bounds_;
  std::uint64_t step_ = 0;
  std::vector<std::uint64_t> seen_;  // by slot: the last step that had rows of it
};

// To their places in the program's workspace.
void CopyInputs(const StepInputs& inputs, const WorkspacePlan& plan, std::uint8_t* workspace);

}  // namespace tonnage
