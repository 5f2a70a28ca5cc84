#include "kernels/elementwise/elementwise.h"

namespace tonnage {

std::span<const ElementwiseKernel> ElementwiseKernels() {
  static constexpr ElementwiseKernel kTable[] = {
      {"reference", CpuLevel::kPortable, reference::Add, reference::SiluGlu,
       reference::GeluTanhGlu},
  };
  return kTable;
}

}  // namespace tonnage
