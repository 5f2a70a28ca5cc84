// Lowers nodes of a graph to a launch list: every kernel and pointer is resolved here, and
// neighbouring row-wise nodes become one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/host/kernel_set.h"
#include "backend/host/launch.h"
#include "backend/host/plan.h"
#include "backend/host/weight_store.h"
#include "graph/submissions.h"

namespace tonnage {

// Where the program's buffers begin.
struct ProgramMemory {
  std::uint8_t* kv = nullptr;
  std::uint8_t* arena = nullptr;
  std::uint8_t* workspace = nullptr;
};

// The launches of `range`; those of the first nodes fill the rope tables before. `plan`'s rope
// tables and `weights` outlive the list; `spec` need not.
std::vector<std::unique_ptr<Launch>> MakeLaunchList(const ProgramSpec& spec, const NodeRange& range,
                                                    const HostPlan& plan,
                                                    const HostWeightStore& weights,
                                                    const KernelSet& kernels,
                                                    const ProgramMemory& memory);

}  // namespace tonnage
