#include "kernels/attention/attention.h"

namespace tonnage {

std::span<const AttentionKernel> AttentionKernels() {
  static constexpr AttentionKernel kTable[] = {
      {"reference", CpuLevel::kPortable, reference::AttentionWorkspaceBytes, reference::Attention},
  };
  return kTable;
}

}  // namespace tonnage
