#include "kernels/norm/norm.h"

namespace tonnage {

std::span<const NormKernel> NormKernels() {
  static constexpr NormKernel kTable[] = {
      {"reference", CpuLevel::kPortable, reference::RmsNorm},
  };
  return kTable;
}

}  // namespace tonnage
