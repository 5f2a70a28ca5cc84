// Lowers a graph to the launch list of a program: every kernel and pointer is resolved here, and
// neighbouring row-wise nodes become one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/kernel_set.h"
#include "backend/cpu/launch.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/weight_store.h"

namespace tonnage {

// Where the program's buffers begin.
struct ProgramMemory {
  std::uint8_t* kv = nullptr;
  std::uint8_t* arena = nullptr;
  std::uint8_t* workspace = nullptr;
};

// `plan`'s rope tables and `weights` outlive the list; `spec` need not.
std::vector<std::unique_ptr<Launch>> MakeLaunchList(const ProgramSpec& spec, const CpuPlan& plan,
                                                    const CpuWeightStore& weights,
                                                    const KernelSet& kernels,
                                                    const ProgramMemory& memory);

}  // namespace tonnage
