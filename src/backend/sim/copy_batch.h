// Work that is collected into one submission until the next piece would go over a limit. One
// thread at a time; the device outlives it.
#pragma once

#include <utility>

#include "backend/sim/device.h"
#include "graph/submissions.h"

namespace tonnage {

class CopyBatch {
 public:
  CopyBatch(SimDevice& device, const SubmissionLimits& limits) : device_(device), limits_(limits) {}

  // `work` alone is within the limits.
  Status Add(const Work& work) {
    Work longer = open_;
    longer += work;
    if (open_.launches > 0 && !limits_.Allow(longer)) {
      RETURN_IF_ERROR(Commit());
      longer = work;
    }
    open_ = longer;
    return {};
  }
  // Hands over what is still open. To be called at the end.
  Status Commit() {
    if (open_.launches == 0) return {};
    const Work work = std::exchange(open_, {});
    return device_.Run(work, FaultPoint::kCopy);
  }

 private:
  SimDevice& device_;
  const SubmissionLimits limits_;
  Work open_;
};

}  // namespace tonnage
