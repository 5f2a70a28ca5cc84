// The scalar quantizers: from numbers to stored bytes, one row at a time, so that any block of rows
// gives the same bytes. q4_0, q4_1 and q8_0 round as llama.cpp's reference does; affine as MLX does
// on the device that its profile names.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/format.h"

namespace tonnage {

// MLX's results depend on its device. CPU: a group's maximum starts from minus infinity, and halves
// round to even. GPU: it starts from 0, so that groups without a positive number differ, and halves
// round away from zero.
enum class AffineProfile { kMlxCpu, kMlxGpu };

// Whether there is a quantizer.
bool CanPack(FormatKind kind);

// Quantizes row [k]; k is a multiple of format.BlockElements(), and CanPack(format.kind). data,
// scales and biases hold what FormatRowBytes says; the latter two are for affine only. What is not
// a finite number gives some valid bytes.
void PackRow(const Format& format, std::span<const float> row, std::uint8_t* data,
             std::uint8_t* scales = nullptr, std::uint8_t* biases = nullptr,
             AffineProfile profile = AffineProfile::kMlxCpu);

// A weight that owns its bytes.
struct QuantizedWeight {
  Format format;
  std::int64_t experts = 1, n = 0, k = 0;
  std::vector<std::uint8_t> data, scales, biases;
  // Borrows from this.
  WeightView View() const {
    return {format, experts, n, k, data.data(), scales.data(), biases.data()};
  }
};
// Quantizes values [experts, n, k].
QuantizedWeight Pack(const Format& format, std::int64_t experts, std::int64_t n, std::int64_t k,
                     std::span<const float> values, AffineProfile profile = AffineProfile::kMlxCpu);

}  // namespace tonnage
