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

enum class FormatKind : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,    // GGUF blocks of 32: f16 d, 16 bytes of nibbles; w = d * (q - 8)
  kQ4_1,    // GGUF blocks of 32: f16 d, f16 m, 16 bytes of nibbles; w = d * q + m
  kQ8_0,    // GGUF blocks of 32: f16 d, 32 int8; w = d * q
  kQ6_K,    // GGUF super-blocks of 256: 128 B low nibbles, 64 B high pairs, 16 int8 scales, f16 d
  kAffine,  // MLX: a bitstream a row, and a scale and a bias a group in separate tensors; w = q *
            // scale + bias
};

struct Format {
  FormatKind kind = FormatKind::kF32;
  int bits = 0;                     // kAffine only: 2, 3, 4, 5, 6, 8
  int group = 0;                    // kAffine only: elements of k that share a scale: 32, 64, 128
  DType scale_dtype = DType::kF32;  // kAffine only: f32, f16 or bf16

  static constexpr Format Of(FormatKind kind) { return {.kind = kind}; }
  static constexpr Format Affine(int bits, int group, DType scale_dtype) {
    return {FormatKind::kAffine, bits, group, scale_dtype};
  }
  bool operator==(const Format&) const = default;
  // "q4_1", "affine 4-bit g64 (bf16)".
  std::string Name() const;
  // Elements along k that cannot be divided: 1, 32, 256 or the group.
  int BlockElements() const;
  // Mean storage bits per weight, scales and biases included.
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
  const std::uint8_t* scales = nullptr;  // kAffine: [experts, n, k / group]
  const std::uint8_t* biases = nullptr;  // kAffine: [experts, n, k / group]
};

}  // namespace tonnage
