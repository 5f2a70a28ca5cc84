#include "kernels/matmul/panel.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/matmul/pack_panel.h"
#include "quant/minifloat.h"
#include "tensor/numbers.h"

namespace tonnage {
namespace {

constexpr Bytes kVector = 64;  // 16 lanes of 4 bytes
constexpr int kSuperBlock = 256;

PanelKind AffineKind(int bits) {
  constexpr PanelKind kKinds[] = {PanelKind::kAffine2, PanelKind::kAffine3, PanelKind::kAffine4,
                                  PanelKind::kAffine5, PanelKind::kAffine6};
  return bits == 8 ? PanelKind::kAffine8 : kKinds[bits - 2];
}

int PlainBytes(PanelKind kind) { return kind == PanelKind::kF32 ? 4 : 2; }

Bytes ScaleBytes(const PanelLayout& layout) {
  const PanelTraits& traits = TraitsOf(layout.kind);
  const Bytes number = kPanelRows * DTypeBytes(layout.scale_dtype);
  const Bytes bytes = layout.chunk / traits.span * kPanelRows;  // of one byte a span
  switch (traits.scaling) {
    case Scaling::kNone:
      return 0;
    case Scaling::kGroup:
      return RoundUp(number, kVector);
    case Scaling::kPair:
    case Scaling::kAffine:
      return 2 * number;
    case Scaling::kSuper:
    case Scaling::kE4m3:
      return RoundUp(number + bytes, kVector);
    case Scaling::kSuperAffine:
      return 2 * number + (traits.span == 16 ? bytes : 2 * bytes);
    case Scaling::kE8m0:
      return bytes;
  }
  return 0;
}

// One row of a chunk.
struct LaneReader {
  const Format& format;
  const PanelLayout& layout;
  const std::uint8_t* chunk;
  int lane;

  // The code of element i of the chunk.
  int Code(std::int64_t i) const;
  // What it stands for.
  float Value(std::int64_t i) const;
  float Scale(std::int64_t i) const;
  float Min(std::int64_t i) const;

 private:
  float Number(std::int64_t vector) const {
    const DType dtype = layout.scale_dtype;
    return LoadNumber(dtype, chunk + (vector * kPanelRows + lane) * DTypeBytes(dtype));
  }
  // Byte `index` behind `numbers` vectors of d and m.
  int Byte(std::int64_t numbers, std::int64_t index) const {
    return chunk[numbers * kPanelRows * DTypeBytes(layout.scale_dtype) + index * kPanelRows + lane];
  }
};

int LaneReader::Code(std::int64_t i) const {
  const PanelTraits& traits = TraitsOf(layout.kind);
  const std::uint8_t* const group =
      chunk + layout.scale_bytes + i / kPanelGroup * traits.bits * kVector;
  if (traits.codes == Codes::kE4m3) return group[i % kPanelGroup * kPanelRows + lane];
  const int c = static_cast<int>(i % kPanelGroup) / 4, j = static_cast<int>(i % 4);
  const auto byte = [&](int vector) { return group[vector * kVector + 4 * lane + j]; };
  const auto pair = [&](int first) { return byte(first + c / 4) >> (2 * (c % 4)) & 3; };
  if (traits.bits == 8) return byte(c);
  if (traits.bits == 2) return pair(0);
  if (traits.bits == 3) return pair(0) | (byte(2) >> c & 1) << 2;
  const int nibble = byte(c % 4) >> (c < 4 ? 0 : 4) & 15;
  if (traits.bits == 5) return nibble | (byte(4) >> c & 1) << 4;
  if (traits.bits == 6) return nibble | pair(4) << 4;
  return nibble;
}

float LaneReader::Value(std::int64_t i) const {
  const int code = Code(i);
  const PanelTraits& traits = TraitsOf(layout.kind);
  switch (traits.codes) {
    case Codes::kIq4:
      return kIq4[static_cast<std::size_t>(code)];
    case Codes::kE2m1:
      return kTwiceE2m1[static_cast<std::size_t>(code)];
    case Codes::kE4m3:
      return E4m3ToF32(static_cast<std::uint8_t>(code));
    default:
      return static_cast<float>(HasMin(layout.kind) ? code : code - (1 << (traits.bits - 1)));
  }
}

float LaneReader::Scale(std::int64_t i) const {
  const PanelTraits& traits = TraitsOf(layout.kind);
  const std::int64_t span = i / traits.span;
  switch (traits.scaling) {
    case Scaling::kPair:
      return Number(i / kPanelGroup);
    case Scaling::kSuper:
      return Number(0) * static_cast<float>(static_cast<std::int8_t>(Byte(1, span)));
    case Scaling::kSuperAffine:
      return Number(0) * static_cast<float>(traits.span == 16 ? Byte(2, span) & 15 : Byte(2, span));
    case Scaling::kE8m0: {
      const auto code = static_cast<std::uint8_t>(Byte(0, span));
      if (format.kind == FormatKind::kMxfp4Gguf) return HalfE8m0ToF32(code);
      return E8m0ToF32(code) * (traits.codes == Codes::kE2m1 ? 0.5f : 1.0f);
    }
    case Scaling::kE4m3:
      return Number(0) * E4m3ToF32(static_cast<std::uint8_t>(Byte(1, span)));
    default:
      return Number(0);
  }
}

float LaneReader::Min(std::int64_t i) const {
  const PanelTraits& traits = TraitsOf(layout.kind);
  if (traits.scaling == Scaling::kAffine) return Number(1);
  const std::int64_t span = i / traits.span;
  const int min = traits.span == 16 ? Byte(2, span) >> 4 : Byte(2, layout.chunk / 32 + span);
  return Number(1) * static_cast<float>(min);
}

}  // namespace

PanelKind PanelKindOf(const Format& format) {
  switch (format.kind) {
    case FormatKind::kF32:
      return PanelKind::kF32;
    case FormatKind::kF16:
      return PanelKind::kF16;
    case FormatKind::kBF16:
      return PanelKind::kBF16;
    case FormatKind::kQ4_0:
      return PanelKind::kSymmetric4;
    case FormatKind::kQ4_1:
      return PanelKind::kAffine4;
    case FormatKind::kQ5_0:
      return PanelKind::kSymmetric5;
    case FormatKind::kQ5_1:
      return PanelKind::kAffine5;
    case FormatKind::kQ8_0:
      return PanelKind::kSymmetric8;
    case FormatKind::kIQ4_NL:
      return PanelKind::kIq4;
    case FormatKind::kQ2_K:
      return PanelKind::kSuperAffine2;
    case FormatKind::kQ3_K:
      return PanelKind::kSuper3;
    case FormatKind::kQ4_K:
      return PanelKind::kSuperAffine4;
    case FormatKind::kQ5_K:
      return PanelKind::kSuperAffine5;
    case FormatKind::kQ6_K:
      return PanelKind::kSuper6;
    case FormatKind::kIQ4_XS:
      return PanelKind::kSuperIq4;
    case FormatKind::kAffine:
      return AffineKind(format.bits);
    case FormatKind::kMxfp4Gguf:
    case FormatKind::kMxfp4:
      return PanelKind::kMxfp4;
    case FormatKind::kNvfp4:
    case FormatKind::kNvfp4Global:
      return PanelKind::kNvfp4;
    case FormatKind::kMxfp8:
      return PanelKind::kMxfp8;
    case FormatKind::kFp8:
      return PanelKind::kFp8;
  }
  CHECK(false) << "a format without a name";
  return PanelKind::kF32;
}

bool HasPanels(const Format& format, std::int64_t k) {
  if (TraitsOf(PanelKindOf(format)).bits == 0) return true;
  return k % kPanelGroup == 0 && (format.BlockElements() % kPanelGroup == 0 || format.group == 0);
}

PanelLayout LayoutPanel(const Format& format, std::int64_t k) {
  PanelLayout layout;
  layout.kind = PanelKindOf(format);
  const PanelTraits& traits = TraitsOf(layout.kind);
  if (traits.bits == 0) {
    layout.bytes = RoundUp(k * kPanelRows * PlainBytes(layout.kind), kVector);
    return layout;
  }
  layout.chunk = kSuperBlock;
  if (traits.scaling == Scaling::kPair) layout.chunk = 2 * kPanelGroup;
  if (traits.scaling == Scaling::kAffine) layout.chunk = kPanelGroup;
  if (format.group != 0) {
    layout.chunk = format.group;
    layout.scale_dtype = format.scale_dtype;
  }
  if (traits.scaling == Scaling::kE4m3) layout.scale_dtype = DType::kF32;
  const Bytes group_bytes = traits.bits * kVector;
  layout.scale_bytes = ScaleBytes(layout);
  layout.chunk_bytes = layout.scale_bytes + layout.chunk / kPanelGroup * group_bytes;
  layout.bytes = k / layout.chunk * layout.chunk_bytes;
  const std::int64_t rest = k % layout.chunk / kPanelGroup;
  if (rest != 0) layout.bytes += layout.scale_bytes + rest * group_bytes;
  return layout;
}

Bytes PanelBytes(const Format& format, std::int64_t n, std::int64_t k) {
  return CeilDiv(n, kPanelRows) * LayoutPanel(format, k).bytes;
}

void PackPanels(const WeightView& source, std::int64_t first_row, std::int64_t, std::uint8_t* out,
                ThreadPool& pool) {
  const PanelLayout layout = LayoutPanel(source.format, source.k);
  const RowBytes row_bytes = FormatRowBytes(source.format, source.k).value();
  pool.Run(CeilDiv(source.n, kPanelRows), [&](std::int64_t panel) {
    std::uint8_t* const to = out + (first_row / kPanelRows + panel) * layout.bytes;
    const std::int64_t first = panel * kPanelRows;
    const std::int64_t lanes = std::min<std::int64_t>(kPanelRows, source.n - first);
    SourceRow rows[kPanelRows];
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t row = first + lane;
      rows[lane] = {source.data + row * row_bytes.data, source.scales + row * row_bytes.scales,
                    source.biases + row * row_bytes.biases};
    }
    PackPanel(source.format, layout, {rows, static_cast<std::size_t>(lanes)}, source.k, to);
  });
}

void UnpackPanelRow(const Format& format, std::int64_t k, const std::uint8_t* data,
                    std::int64_t row, float* out) {
  const PanelLayout layout = LayoutPanel(format, k);
  const std::uint8_t* const panel = data + row / kPanelRows * layout.bytes;
  const int lane = static_cast<int>(row % kPanelRows);
  if (TraitsOf(layout.kind).bits == 0) {
    const DType dtype = layout.kind == PanelKind::kF32   ? DType::kF32
                        : layout.kind == PanelKind::kF16 ? DType::kF16
                                                         : DType::kBF16;
    for (std::int64_t i = 0; i < k; ++i)
      out[i] = LoadNumber(dtype, panel + (i * kPanelRows + lane) * DTypeBytes(dtype));
    return;
  }
  LaneReader reader{format, layout, panel, lane};
  for (std::int64_t first = 0; first < k; first += layout.chunk) {
    const std::int64_t count = std::min<std::int64_t>(layout.chunk, k - first);
    const int span = TraitsOf(layout.kind).span;
    for (std::int64_t begin = 0; begin < count; begin += span) {
      const float d = reader.Scale(begin);
      float* const to = out + first + begin;
      for (int i = 0; i < span; ++i) to[i] = d * reader.Value(begin + i);
      if (!HasMin(layout.kind)) continue;
      const float m = reader.Min(begin);
      for (int i = 0; i < span; ++i) to[i] += m;
    }
    reader.chunk += layout.chunk_bytes;
  }
}

}  // namespace tonnage
