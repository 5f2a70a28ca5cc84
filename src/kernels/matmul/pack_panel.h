// Repacking: 16 rows of a checkpoint's matrix into one panel. Codes are taken apart and put
// together for all 16 rows at a time, in loops that compilers turn into vector instructions.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/matmul/panel.h"

namespace tonnage {

struct SourceRow {
  const std::uint8_t* data = nullptr;
  const std::uint8_t* scales = nullptr;
  const std::uint8_t* biases = nullptr;
};

// Packs 1 to 16 rows of k elements; lanes without a row get scales of zero. What a panel's bytes
// are depends on its rows alone.
void PackPanel(const Format& format, const PanelLayout& layout, std::span<const SourceRow> rows,
               std::int64_t k, std::uint8_t* out);

}  // namespace tonnage
