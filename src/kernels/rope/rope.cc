#include "kernels/rope/rope.h"

namespace tonnage {

std::span<const RopeKernel> RopeKernels() {
  static constexpr RopeKernel kTable[] = {
      {"reference", CpuLevel::kPortable, reference::RopeHalfSplit, reference::RopeInterleaved},
  };
  return kTable;
}

}  // namespace tonnage
