#include "checkpoint/packing.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "quant/rows.h"
#include "tensor/numbers.h"

namespace tonnage {
namespace {

constexpr std::int64_t kNibbles = 8;  // in a word
// Of the nibble that holds each column of eight.
constexpr int kAwqShifts[kNibbles] = {0, 16, 4, 20, 8, 24, 12, 28};
constexpr int kPlainShifts[kNibbles] = {0, 4, 8, 12, 16, 20, 24, 28};
constexpr int kImpliedZero = 8;
// Rows that are turned together: one cache line of a source row.
constexpr std::int64_t kTileRows = 128;

const int* ShiftsOf(Packing::Kind kind) {
  return kind == Packing::Kind::kAwq ? kAwqShifts : kPlainShifts;
}

std::uint32_t LoadWord(std::span<const std::uint8_t> words, std::int64_t index) {
  std::uint32_t word;
  std::memcpy(&word, words.data() + 4 * index, sizeof word);
  return word;
}

void StoreWord(std::uint32_t word, std::uint8_t* to) { std::memcpy(to, &word, sizeof word); }

// Eight elements of k of rows [row, row + 8): eight words of eight columns, transposed.
void TurnAwq(const PackedTensors& source, std::int64_t row, std::int64_t k, std::uint8_t* out,
             Bytes row_bytes) {
  std::uint32_t turned[kNibbles] = {};
  for (std::int64_t i = 0; i < kNibbles; ++i) {
    const std::uint32_t word =
        LoadWord(source.data, (k + i) * (source.n / kNibbles) + row / kNibbles);
    for (std::int64_t c = 0; c < kNibbles; ++c) {
      turned[c] |= (word >> kAwqShifts[c] & 15u) << (4 * i);
    }
  }
  for (std::int64_t c = 0; c < kNibbles; ++c) StoreWord(turned[c], out + c * row_bytes + k / 2);
}

// The same for GPTQ, whose words already hold eight elements of one row.
void TurnGptq(const PackedTensors& source, std::int64_t row, std::int64_t k, std::uint8_t* out,
              Bytes row_bytes) {
  for (std::int64_t c = 0; c < kNibbles; ++c) {
    StoreWord(LoadWord(source.data, k / kNibbles * source.n + row + c),
              out + c * row_bytes + k / 2);
  }
}

void TurnCodes(const PackedTensors& source, std::int64_t first, std::int64_t count, Bytes row_bytes,
               std::uint8_t* out) {
  const auto turn = source.packing.kind == Packing::Kind::kAwq ? TurnAwq : TurnGptq;
  for (std::int64_t tile = 0; tile < count; tile += kTileRows) {
    const std::int64_t end = std::min(tile + kTileRows, count);
    for (std::int64_t k = 0; k < source.k; k += kNibbles) {
      for (std::int64_t row = tile; row < end; row += kNibbles) {
        turn(source, first + row, k, out + row * row_bytes, row_bytes);
      }
    }
  }
}

// A source group may be several of the format's, which then have the same scale and bias.
void TurnScales(const PackedTensors& source, std::int64_t first, std::int64_t count,
                std::uint8_t* scales, std::uint8_t* biases) {
  const Format& format = source.format;
  const Bytes size = DTypeBytes(format.scale_dtype);
  const int* shifts = ShiftsOf(source.packing.kind);
  const std::int64_t groups = source.k / format.group;
  const std::int64_t repeats = source.packing.group / format.group;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t column = first + row;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t source_group = g / repeats;
      const std::uint8_t* scale = source.scales.data() + (source_group * source.n + column) * size;
      int zero = kImpliedZero;
      if (!source.biases.empty()) {
        const std::uint32_t word =
            LoadWord(source.biases, source_group * (source.n / kNibbles) + column / kNibbles);
        zero =
            static_cast<int>(word >> shifts[column % kNibbles] & 15u) + source.packing.zero_offset;
      }
      const Bytes at = (row * groups + g) * size;
      std::memcpy(scales + at, scale, static_cast<size_t>(size));
      const float step = LoadNumber(format.scale_dtype, scale);
      StoreNumber(format.scale_dtype, -static_cast<float>(zero) * step, biases + at);
    }
  }
}

WeightView ReadColumns(const PackedTensors& source, std::int64_t first, std::int64_t count,
                       std::span<std::uint8_t> staging) {
  CHECK(first % kNibbles == 0 && count % kNibbles == 0) << first << ", " << count;
  const RowBytes row = FormatRowBytes(source.format, source.k).value();
  std::uint8_t* data = staging.data();
  std::uint8_t* scales = data + count * row.data;
  std::uint8_t* biases = scales + count * row.scales;
  TurnCodes(source, first, count, row.data, data);
  TurnScales(source, first, count, scales, biases);
  return {.format = source.format,
          .n = count,
          .k = source.k,
          .data = data,
          .scales = scales,
          .biases = biases};
}

// Each row gets the scales of its block.
WeightView ReadBlockScales(const PackedTensors& tensors, std::int64_t first, std::int64_t count,
                           std::span<std::uint8_t> staging) {
  const RowBytes row = FormatRowBytes(tensors.format, tensors.k).value();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t block = (first + i) / tensors.packing.block_rows;
    std::memcpy(staging.data() + i * row.scales, tensors.scales.data() + block * row.scales,
                static_cast<size_t>(row.scales));
  }
  return {.format = tensors.format,
          .n = count,
          .k = tensors.k,
          .data = tensors.data.data() + first * row.data,
          .scales = staging.data()};
}

// Each row gets the factor of its matrix.
WeightView ReadMatrixScale(const PackedTensors& tensors, std::int64_t first, std::int64_t count,
                           std::span<std::uint8_t> staging) {
  constexpr float kLargest = 2688;  // a code times a scale
  const RowBytes row = FormatRowBytes(tensors.format, tensors.k).value();
  const bool inverse = tensors.packing.kind == Packing::Kind::kInverseMatrixScale;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t matrix = (first + i) / tensors.packing.matrix_rows;
    const float stored = LoadNumber(DType::kF32, tensors.biases.data() + matrix * row.biases);
    StoreNumber(DType::kF32, inverse ? 1 / stored : stored / kLargest,
                staging.data() + i * row.biases);
  }
  return {.format = tensors.format,
          .n = count,
          .k = tensors.k,
          .data = tensors.data.data() + first * row.data,
          .scales = tensors.scales.data() + first * row.scales,
          .biases = staging.data()};
}

}  // namespace

Bytes PackedStagingBytes(const PackedTensors& tensors, std::int64_t count) {
  const RowBytes row = FormatRowBytes(tensors.format, tensors.k).value();
  switch (tensors.packing.kind) {
    case Packing::Kind::kRows:
      return 0;
    case Packing::Kind::kAwq:
    case Packing::Kind::kGptq:
      return count * row.Total();
    case Packing::Kind::kBlockScales:
      return count * row.scales;
    case Packing::Kind::kMatrixScale:
    case Packing::Kind::kInverseMatrixScale:
      return count * row.biases;
  }
  return 0;
}

WeightView ReadPackedRows(const PackedTensors& tensors, std::int64_t first, std::int64_t count,
                          std::span<std::uint8_t> staging) {
  CHECK_GE(static_cast<Bytes>(staging.size()), PackedStagingBytes(tensors, count));
  const WeightView rows{.format = tensors.format,
                        .n = tensors.n,
                        .k = tensors.k,
                        .data = tensors.data.data(),
                        .scales = tensors.scales.data(),
                        .biases = tensors.biases.data()};
  switch (tensors.packing.kind) {
    case Packing::Kind::kRows:
      return SliceRows(rows, first, count);
    case Packing::Kind::kAwq:
    case Packing::Kind::kGptq:
      return ReadColumns(tensors, first, count, staging);
    case Packing::Kind::kBlockScales:
      return ReadBlockScales(tensors, first, count, staging);
    case Packing::Kind::kMatrixScale:
    case Packing::Kind::kInverseMatrixScale:
      return ReadMatrixScale(tensors, first, count, staging);
  }
  return rows;
}

}  // namespace tonnage
