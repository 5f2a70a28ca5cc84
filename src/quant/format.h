// How a weight matrix is stored: its format, the bytes that takes, and a borrowed view of it.
// Layout definitions are in unpack.h; facts in docs/formats.md. A quantization group never spans
// rows, so any block of rows stands alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tonnage {

// The layout of each is beside its UnpackRow function.
enum class FormatKind : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  // GGUF blocks of 32, scales inside.
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kIQ4_NL,
  kMxfp4Gguf,
  // GGUF super-blocks of 256.
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_XS,
  // MLX: codes, scales and biases are tensors of their own.
  kAffine,
  kMxfp4,
  kMxfp8,
  kNvfp4,
  kNvfp4Global,  // with an f32 factor for the whole tensor, repeated for each row
  // Hugging Face: e4m3 codes; the scale of a block of rows is repeated for each of them.
  kFp8,
};

struct Format {
  FormatKind kind = FormatKind::kF32;
  int bits = 0;                     // kAffine: 2, 3, 4, 5, 6, 8
  int group = 0;                    // elements of k that share a scale. kAffine: 32, 64, 128; kFp8
  DType scale_dtype = DType::kF32;  // kAffine, kFp8: f32, f16 or bf16

  static constexpr Format Of(FormatKind kind) { return {.kind = kind}; }
  static constexpr Format Affine(int bits, int group, DType scale_dtype) {
    return {FormatKind::kAffine, bits, group, scale_dtype};
  }
  static constexpr Format Fp8(int group, DType scale_dtype) {
    return {FormatKind::kFp8, 8, group, scale_dtype};
  }
  bool operator==(const Format&) const = default;
  // "q4_1", "affine 4-bit g64 (bf16)".
  std::string Name() const;
  // Elements along k that cannot be divided: 1, 16, 32, 256 or the group.
  int BlockElements() const;
  // Mean storage bits per weight, scales and biases included; what a row has once does not count.
  double BitsPerWeight() const;
};

// Bytes of each part of one row of k elements. Parts that the format lacks are 0. Nothing if k is
// not a multiple of BlockElements() or the size overflows.
struct RowBytes {
  Bytes data = 0;
  Bytes scales = 0;
  Bytes biases = 0;
  Bytes Total() const { return data + scales + biases; }
};
std::optional<RowBytes> FormatRowBytes(const Format& format, std::int64_t k);

// A matrix (or a stack of expert matrices) as it lies in a checkpoint; rows of a part follow each
// other without padding. Vectors are n = 1. Borrows its bytes.
struct WeightView {
  Format format;
  std::int64_t experts = 1;
  std::int64_t n = 0;                    // output rows of one expert
  std::int64_t k = 0;                    // inputs
  const std::uint8_t* data = nullptr;    // [experts, n, row bytes]
  const std::uint8_t* scales = nullptr;  // MLX and kFp8: [experts, n, k / group]
  const std::uint8_t* biases = nullptr;  // kAffine: [experts, n, k / group]; kNvfp4Global:
                                         // [experts, n] f32 factors
};

}  // namespace tonnage
