// The scalar quantizers: from numbers to stored bytes, one row at a time, so that any block of rows
// gives the same bytes. GGUF's formats are written as llama.cpp's reference writes them
// (pack_gguf.h), MLX's as MLX does on the device that the profile names (pack_mlx.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/format.h"

namespace tonnage {

// Whose results to give where MLX's devices differ; pack_mlx.h says in what.
enum class PackProfile { kMlxCpu, kMlxGpu };

struct PackOptions {
  PackProfile profile = PackProfile::kMlxCpu;
  // What the numbers are stored as where they come from: f32, f16 or bf16. MLX's CPU rounds steps
  // of its fp4 and fp8 quantizers to it.
  DType source = DType::kF32;
};

// Whether there is a quantizer.
bool CanPack(FormatKind kind);

// Quantizes row [k]; k is a multiple of format.BlockElements(), and CanPack(format.kind). data,
// scales and biases hold what FormatRowBytes says. What is not a finite number gives some valid
// bytes.
void PackRow(const Format& format, std::span<const float> row, std::uint8_t* data,
             std::uint8_t* scales = nullptr, std::uint8_t* biases = nullptr,
             const PackOptions& options = {});

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
                     std::span<const float> values, const PackOptions& options = {});

}  // namespace tonnage
