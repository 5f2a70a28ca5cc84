// For tests and benches: every format, and random weights in it.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "quant/pack.h"

namespace tonnage {

// Every kind, affine with every number of bits and some groups.
inline std::vector<Format> AllFormats() {
  std::vector<Format> formats;
  for (auto kind = FormatKind::kF32; kind <= FormatKind::kFp8;
       kind = static_cast<FormatKind>(static_cast<int>(kind) + 1)) {
    if (kind != FormatKind::kAffine && kind != FormatKind::kFp8)
      formats.push_back(Format::Of(kind));
  }
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    formats.push_back(Format::Affine(bits, 64, DType::kBF16));
  }
  for (const int bits : {4, 8}) {
    formats.push_back(Format::Affine(bits, 32, DType::kF16));
    formats.push_back(Format::Affine(bits, 128, DType::kF32));
  }
  formats.push_back(Format::Fp8(128, DType::kF32));
  formats.push_back(Format::Fp8(64, DType::kBF16));
  return formats;
}

// The smallest k from which panels can be made; its multiples serve too.
inline std::int64_t PanelElements(const Format& format) {
  return format.BlockElements() == 16 ? 32 : format.BlockElements();
}

namespace internal {

// Where a block keeps its float16 numbers.
inline std::vector<std::size_t> F16Offsets(FormatKind kind) {
  switch (kind) {
    case FormatKind::kQ5_1:
    case FormatKind::kQ5_K:
      return {0, 2};
    case FormatKind::kQ2_K:
      return {80, 82};
    case FormatKind::kQ3_K:
      return {108};
    case FormatKind::kQ5_0:
    case FormatKind::kIQ4_NL:
    case FormatKind::kIQ4_XS:
      return {0};
    default:
      return {};
  }
}

}  // namespace internal

// Normally distributed numbers, quantized; in formats that cannot be written, random codes with
// scales that keep them of such a size.
inline QuantizedWeight RandomWeight(const Format& format, std::int64_t experts, std::int64_t n,
                                    std::int64_t k, std::mt19937& random) {
  std::normal_distribution<float> normal;
  if (CanPack(format.kind)) {
    std::vector<float> values(static_cast<std::size_t>(experts * n * k));
    for (float& value : values) value = normal(random);
    return Pack(format, experts, n, k, values);
  }
  const RowBytes bytes = *FormatRowBytes(format, k);
  QuantizedWeight weight;
  weight.format = format;
  weight.experts = experts;
  weight.n = n;
  weight.k = k;
  const auto rows = static_cast<std::size_t>(experts * n);
  weight.data.resize(rows * static_cast<std::size_t>(bytes.data));
  weight.scales.resize(rows * static_cast<std::size_t>(bytes.scales));
  weight.biases.resize(rows * static_cast<std::size_t>(bytes.biases));
  for (std::uint8_t& byte : weight.data) byte = static_cast<std::uint8_t>(random());
  for (std::uint8_t& byte : weight.scales) byte = static_cast<std::uint8_t>(0x30 + random() % 16);
  for (std::size_t i = 0; i < weight.biases.size(); i += 4) {
    const float factor = std::fabs(normal(random));
    std::memcpy(&weight.biases[i], &factor, sizeof factor);
  }
  const auto block = static_cast<std::size_t>(FormatRowBytes(format, format.BlockElements())->data);
  for (std::size_t at = 0; at < weight.data.size(); at += block) {
    for (const std::size_t offset : internal::F16Offsets(format.kind)) {
      const std::uint16_t d = F32ToF16(0.0005f * static_cast<float>(1 + random() % 4));
      std::memcpy(&weight.data[at + offset], &d, sizeof d);
    }
    if (format.kind == FormatKind::kMxfp4Gguf)
      weight.data[at] = static_cast<std::uint8_t>(120 + random() % 8);
  }
  if (format.kind == FormatKind::kFp8) {
    for (std::uint8_t& byte : weight.data) byte = (byte & 0x7f) == 0x7f ? 0 : byte;
    const auto size = static_cast<std::size_t>(DTypeBytes(format.scale_dtype));
    for (std::size_t i = 0; i < weight.scales.size(); i += size) {
      const float scale = 0.01f * normal(random);
      const std::uint16_t half =
          format.scale_dtype == DType::kF16 ? F32ToF16(scale) : F32ToBf16(scale);
      if (size == 4) std::memcpy(&weight.scales[i], &scale, size);
      if (size == 2) std::memcpy(&weight.scales[i], &half, size);
    }
  }
  return weight;
}

}  // namespace tonnage
