#include "kernels/moe/moe.h"

namespace tonnage {

std::span<const MoeKernel> MoeKernels() {
  static constexpr MoeKernel kTable[] = {
      {"reference", CpuLevel::kPortable, reference::Route, reference::ExpertSum},
  };
  return kTable;
}

}  // namespace tonnage
