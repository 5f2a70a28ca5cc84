// The reference kernel: obvious, slow, right; every format through UnpackRow, sums in double. It
// keeps a weight as the checkpoint stores it: all data, then all scales, then all biases.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/matmul/matmul.h"

namespace tonnage {

Bytes ReferencePackedBytes(const Format& format, std::int64_t n, std::int64_t k);
void ReferencePack(const WeightView& rows, std::int64_t first_row, std::int64_t n,
                   std::uint8_t* out, ThreadPool& pool);
void ReferenceUnpackRow(const PackedWeight& weight, std::int64_t row, float* out);
Bytes ReferenceWorkspaceBytes(std::int64_t rows, std::int64_t k, std::int64_t experts);
void ReferenceRun(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
void ReferenceRunExperts(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace,
                         ThreadPool& pool);

}  // namespace tonnage
