// How every kernel but the reference stores a weight: panels of 16 output rows that lie side by
// side, so that one 16-lane vector holds the same k of 16 rows and a kernel reads a panel from its
// first byte to its last.
//
// Plain formats: element (k, row) at [k][16], in the stored type.
// Quantized formats: chunks of k, each the scales of its elements, then for every 32 elements
// vectors of codes, 64 bytes each, lane = row.
//   8-bit codes: vector c (0..7) holds elements 4c..4c+3 of each row, a byte each.
//   4-bit codes: vector v (0..3) holds elements 4v..4v+3 in its low nibbles, 16+4v.. in its high.
//   6-bit codes: the low 4 bits as above, then two vectors h with the high 2 bits: byte j of a lane
//   holds those of elements 16h+4i+j in bits 2i..2i+1.
//   Scales of symmetric kinds: d[16] of the chunk's first and second 32 elements; the last chunk
//   may lack the second 32. Of affine kinds: d[16], m[16], in the stored type. Of Q6_K: d[16], then
//   the int8 scales [16] of every 16 elements.
// Lossless: UnpackPanelRow gives back exactly what UnpackRow reads in the checkpoint.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "quant/format.h"
#include "tensor/dtype.h"

namespace tonnage {

inline constexpr int kPanelRows = 16;

enum class PanelKind : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kSymmetric4,  // w = d * (q - 8)
  kSymmetric8,  // w = d * (q - 128)
  kAffine4,     // w = d * q + m
  kAffine6,
  kAffine8,
  kQ6K,  // w = d * scale * (q - 32)
};
inline constexpr int kPanelKinds = 9;

struct PanelLayout {
  PanelKind kind = PanelKind::kF32;
  DType scale_dtype = DType::kF16;
  int chunk = 0;          // elements of k in a chunk; 0 for plain kinds
  Bytes scale_bytes = 0;  // before a chunk's codes
  Bytes chunk_bytes = 0;
  Bytes bytes = 0;  // of one panel; a multiple of 64
};

// Whether there is a layout; where not, only the reference kernel runs the format.
bool HasPanels(const Format& format);
// k is a multiple of the format's BlockElements().
PanelLayout LayoutPanel(const Format& format, std::int64_t k);

// The packed_bytes, pack and unpack_row of a kernel's table row.
Bytes PanelBytes(const Format& format, std::int64_t n, std::int64_t k);
void PackPanels(const WeightView& source, std::int64_t expert, std::uint8_t* out, ThreadPool& pool);
void UnpackPanelRow(const Format& format, std::int64_t k, const std::uint8_t* data,
                    std::int64_t row, float* out);

}  // namespace tonnage
