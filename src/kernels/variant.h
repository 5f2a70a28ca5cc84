// How a kernel family tells its variants apart and picks one: a table, best first, the reference
// last. The choice is made once, when a program is made, from the features that are passed in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu_features.h"

namespace tonnage {

// The instructions that a variant was compiled for.
enum class CpuLevel : std::uint8_t { kPortable, kAvx2, kAvx512 };

inline bool Runs(CpuLevel level, const CpuFeatures& features) {
  switch (level) {
    case CpuLevel::kPortable:
      return true;
    case CpuLevel::kAvx2:
      return features.avx2;
    case CpuLevel::kAvx512:
      return features.avx512;
  }
  return false;
}

// The first row of `table` that runs with `features`; the row named `forced` instead where there is
// one and it runs. Every table ends with a portable row.
template <typename Kernel>
const Kernel& SelectKernel(std::span<const Kernel> table, const CpuFeatures& features,
                           std::string_view forced = {}) {
  const Kernel* best = nullptr;
  for (const Kernel& kernel : table) {
    if (!Runs(kernel.level, features)) continue;
    if (kernel.name == forced) return kernel;
    if (best == nullptr) best = &kernel;
  }
  return *best;
}

}  // namespace tonnage
