// How every kernel but the reference stores a weight: panels of 16 output rows that lie side by
// side, so that one 16-lane vector holds the same k of 16 rows and a kernel reads a panel from its
// first byte to its last.
//
// Plain formats: element (k, row) at [k][16], in the stored type.
// Quantized formats: chunks of k, each the scales of its elements, then for every 32 elements as
// many vectors of 64 bytes, lane = row, as a code has bits:
//   8 bits: vector c (0..7) holds elements 4c..4c+3 of each row, a byte each.
//   4 bits: vector v (0..3) holds elements 4v..4v+3 in its low nibbles, 16+4v.. in its high.
//   2 bits: byte j of a lane of vector h (0, 1) holds elements 16h+4i+j in bits 2i..2i+1.
//   6 bits: the low 4 bits, then the high 2 bits, both as above.
//   5 and 3 bits: the low 4 or 2 bits as above, then one vector of high bits: bit c of byte j of a
//   lane belongs to element 4c+j.
//   e4m3 codes: element (k, row) at [k][16], a byte each.
// Scales of a chunk, each a vector of 16 rows, in this order (`Scaling` says which there are): d,
// m, then a byte for every `span` elements. The last chunk may hold fewer elements; its scales keep
// their room.
// Lossless: UnpackPanelRow gives back exactly what UnpackRow reads in the checkpoint.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "quant/format.h"
#include "tensor/dtype.h"

namespace tonnage {

inline constexpr int kPanelRows = 16;
inline constexpr int kPanelGroup = 32;  // elements of k whose codes lie together

enum class PanelKind : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kSymmetric4,
  kSymmetric5,
  kSymmetric8,
  kIq4,
  kAffine2,
  kAffine3,
  kAffine4,
  kAffine5,
  kAffine6,
  kAffine8,
  kSuper3,
  kSuper6,
  kSuperIq4,
  kSuperAffine2,
  kSuperAffine4,
  kSuperAffine5,
  kMxfp4,
  kNvfp4,
  kMxfp8,
  kFp8,
};

// What a code stands for.
enum class Codes : std::uint8_t {
  kNone,   // plain
  kWhole,  // itself; where there is no m, itself less half of its range
  kIq4,    // an entry of quant/minifloat.h's table
  kE2m1,   // twice the number, so that it is whole
  kE4m3,
};

// How the scale of an element is stored; w = scale * code, + m where there is one.
enum class Scaling : std::uint8_t {
  kNone,
  kPair,         // d (f16) for each 32 of a chunk of 64
  kGroup,        // d in the stored type, a chunk is a group
  kAffine,       // d and m in the stored type, a chunk is a group
  kSuper,        // d (f16), and an int8 by which it is multiplied
  kSuperAffine,  // d and -m (f16), and what they are multiplied by: with a span of 32 a byte each
                 // (all for d, then all for m), with one of 16 the low and high nibble of a byte
  kE8m0,         // a byte, for e2m1 of half its value
  kE4m3,         // d (f32, halved because the codes are doubled), and an e4m3 to multiply it by
};

struct PanelTraits {
  int bits;  // of a code as stored: its vectors of 64 bytes; 0 for plain kinds
  Codes codes;
  Scaling scaling;
  int span;  // consecutive elements with the same scale: 16, or 32 for at least so many
};

// One row a kind.
inline constexpr PanelTraits kPanelTraits[] = {
    {0, Codes::kNone, Scaling::kNone, 32},          // f32
    {0, Codes::kNone, Scaling::kNone, 32},          // f16
    {0, Codes::kNone, Scaling::kNone, 32},          // bf16
    {4, Codes::kWhole, Scaling::kPair, 32},         // q4_0
    {5, Codes::kWhole, Scaling::kPair, 32},         // q5_0
    {8, Codes::kWhole, Scaling::kPair, 32},         // q8_0
    {4, Codes::kIq4, Scaling::kPair, 32},           // iq4_nl
    {2, Codes::kWhole, Scaling::kAffine, 32},       // MLX affine
    {3, Codes::kWhole, Scaling::kAffine, 32},       //
    {4, Codes::kWhole, Scaling::kAffine, 32},       // and q4_1
    {5, Codes::kWhole, Scaling::kAffine, 32},       // and q5_1
    {6, Codes::kWhole, Scaling::kAffine, 32},       //
    {8, Codes::kWhole, Scaling::kAffine, 32},       //
    {3, Codes::kWhole, Scaling::kSuper, 16},        // q3_k
    {6, Codes::kWhole, Scaling::kSuper, 16},        // q6_k
    {4, Codes::kIq4, Scaling::kSuper, 32},          // iq4_xs
    {2, Codes::kWhole, Scaling::kSuperAffine, 16},  // q2_k
    {4, Codes::kWhole, Scaling::kSuperAffine, 32},  // q4_k
    {5, Codes::kWhole, Scaling::kSuperAffine, 32},  // q5_k
    {4, Codes::kE2m1, Scaling::kE8m0, 32},          // mxfp4, MLX's and GGUF's
    {4, Codes::kE2m1, Scaling::kE4m3, 16},          // nvfp4, with and without a factor
    {8, Codes::kE4m3, Scaling::kE8m0, 32},          // mxfp8
    {8, Codes::kE4m3, Scaling::kGroup, 32},         // fp8
};
constexpr const PanelTraits& TraitsOf(PanelKind kind) {
  return kPanelTraits[static_cast<int>(kind)];
}
constexpr bool HasMin(PanelKind kind) {
  const Scaling scaling = TraitsOf(kind).scaling;
  return scaling == Scaling::kAffine || scaling == Scaling::kSuperAffine;
}
// Whether sums over a group can be taken in whole numbers.
constexpr bool HasWholeCodes(PanelKind kind) {
  const Codes codes = TraitsOf(kind).codes;
  return codes != Codes::kNone && codes != Codes::kE4m3;
}

struct PanelLayout {
  PanelKind kind = PanelKind::kF32;
  DType scale_dtype = DType::kF16;  // of d and m
  int chunk = 0;                    // elements of k in a chunk; 0 for plain kinds
  Bytes scale_bytes = 0;            // before a chunk's codes
  Bytes chunk_bytes = 0;
  Bytes bytes = 0;  // of one panel; a multiple of 64
};

PanelKind PanelKindOf(const Format& format);
// Whether rows of k elements can be laid out in panels; where not, only the reference kernel runs.
bool HasPanels(const Format& format, std::int64_t k);
// HasPanels(format, k).
PanelLayout LayoutPanel(const Format& format, std::int64_t k);

// The packed_bytes, pack and unpack_row of a kernel's table row.
Bytes PanelBytes(const Format& format, std::int64_t n, std::int64_t k);
void PackPanels(const WeightView& rows, std::int64_t first_row, std::int64_t n, std::uint8_t* out,
                ThreadPool& pool);
void UnpackPanelRow(const Format& format, std::int64_t k, const std::uint8_t* data,
                    std::int64_t row, float* out);

}  // namespace tonnage
