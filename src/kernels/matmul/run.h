// What the panel kernels share: rows are prepared in blocks once a call, then tasks of some panels
// times all rows of a matrix run over the pool. Nothing is allocated.
//
// Workspace: the prepared blocks, and for experts the (row, expert) pairs sorted by expert.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/tile.h"

namespace tonnage {

Bytes PanelWorkspaceBytes(const TileVariant& variant, std::int64_t rows, std::int64_t k,
                          std::int64_t experts);
void RunPanels(const TileVariant& variant, const MatmulArgs& args,
               std::span<std::uint8_t> workspace, ThreadPool& pool);
void RunExpertPanels(const TileVariant& variant, const ExpertMatmulArgs& args,
                     std::span<std::uint8_t> workspace, ThreadPool& pool);

}  // namespace tonnage
