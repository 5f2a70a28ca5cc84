#include "kernels/matmul/panel.h"

#include <algorithm>
#include <cstring>

namespace tonnage {
namespace {

constexpr int kGroup = 32;             // elements of k that are packed together
constexpr Bytes kVector = 64;          // 16 lanes of 4 bytes
constexpr int kSuperBlock = 256;       // Q6_K
constexpr int kSuperBlockBytes = 210;  // 128 + 64 + 16 + 2
constexpr int kMaxWords = 8;           // of one row in one packed group

PanelKind KindOf(const Format& format) {
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
    case FormatKind::kQ8_0:
      return PanelKind::kSymmetric8;
    case FormatKind::kQ6_K:
      return PanelKind::kQ6K;
    case FormatKind::kAffine:
      break;
  }
  return format.bits <= 4   ? PanelKind::kAffine4
         : format.bits <= 6 ? PanelKind::kAffine6
                            : PanelKind::kAffine8;
}

// 32-bit words of one row in one packed group; 0 for plain kinds.
int WordsOf(PanelKind kind) {
  switch (kind) {
    case PanelKind::kSymmetric4:
    case PanelKind::kAffine4:
      return 4;
    case PanelKind::kAffine6:
    case PanelKind::kQ6K:
      return 6;
    case PanelKind::kSymmetric8:
    case PanelKind::kAffine8:
      return 8;
    default:
      return 0;
  }
}

bool IsAffine(PanelKind kind) {
  return kind == PanelKind::kAffine4 || kind == PanelKind::kAffine6 || kind == PanelKind::kAffine8;
}

int PlainBytes(PanelKind kind) { return kind == PanelKind::kF32 ? 4 : 2; }

// The codes of elements [32 g, 32 g + 32) of one row of a bitstream.
void ReadBitstream(const std::uint8_t* row, int bits, std::int64_t g, std::uint8_t* codes) {
  const std::uint8_t* in = row + g * 4 * bits;
  std::uint32_t pending = 0;
  int available = 0;
  for (int i = 0; i < kGroup; ++i) {
    while (available < bits) {
      pending |= static_cast<std::uint32_t>(*in++) << available;
      available += 8;
    }
    codes[i] = static_cast<std::uint8_t>(pending & ((1u << bits) - 1));
    pending >>= bits;
    available -= bits;
  }
}

void ReadQ6K(const std::uint8_t* row, std::int64_t g, std::uint8_t* codes) {
  const std::uint8_t* block = row + g / 8 * kSuperBlockBytes;
  const int half = static_cast<int>(g % 8) / 4;
  const int quarter = static_cast<int>(g % 4);
  const std::uint8_t* low = block + half * 64 + quarter % 2 * 32;
  const std::uint8_t* high = block + 128 + half * 32;
  for (int i = 0; i < kGroup; ++i) {
    const int nibble = quarter < 2 ? low[i] & 15 : low[i] >> 4;
    codes[i] = static_cast<std::uint8_t>(nibble | ((high[i] >> (2 * quarter)) & 3) << 4);
  }
}

// Puts 32 codes into the order of a row's packed words.
void PackCodes(const std::uint8_t* codes, int words, std::uint8_t* packed) {
  if (words == 8) {
    std::memcpy(packed, codes, kGroup);
    return;
  }
  for (int i = 0; i < 16; ++i) {
    packed[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[16 + i] & 15) << 4);
  }
  if (words == 4) return;
  for (int h = 0; h < 2; ++h) {
    for (int j = 0; j < 4; ++j) {
      int byte = 0;
      for (int i = 0; i < 4; ++i) byte |= (codes[16 * h + 4 * i + j] >> 4) << (2 * i);
      packed[16 + 4 * h + j] = static_cast<std::uint8_t>(byte);
    }
  }
}

// The packed words of group g of one row.
void PackGroup(const Format& format, int words, const std::uint8_t* row, std::int64_t g,
               std::uint8_t* packed) {
  std::uint8_t codes[kGroup];
  switch (format.kind) {
    case FormatKind::kQ4_0:
      std::memcpy(packed, row + g * 18 + 2, 16);
      return;
    case FormatKind::kQ4_1:
      std::memcpy(packed, row + g * 20 + 4, 16);
      return;
    case FormatKind::kQ8_0:
      for (int i = 0; i < kGroup; ++i) packed[i] = row[g * 34 + 2 + i] ^ 0x80;
      return;
    case FormatKind::kQ6_K:
      ReadQ6K(row, g, codes);
      break;
    default:
      ReadBitstream(row, format.bits, g, codes);
      break;
  }
  PackCodes(codes, words, packed);
}

struct SourceRow {
  const std::uint8_t* data;
  const std::uint8_t* scales;
  const std::uint8_t* biases;
};

void PackScales(const Format& format, const PanelLayout& layout, const SourceRow& row, int lane,
                std::int64_t k, std::uint8_t* out) {
  if (format.kind == FormatKind::kQ6_K) {
    std::uint8_t* const d = out + layout.scales_offset;
    std::uint8_t* const scales = d + k / kSuperBlock * 2 * kPanelRows;
    for (std::int64_t b = 0; b < k / kSuperBlock; ++b) {
      const std::uint8_t* block = row.data + b * kSuperBlockBytes;
      std::memcpy(d + (b * kPanelRows + lane) * 2, block + 208, 2);
      for (int s = 0; s < 16; ++s) scales[(b * 16 + s) * kPanelRows + lane] = block[192 + s];
    }
    return;
  }
  const Bytes size = DTypeBytes(layout.scale_dtype);
  const int vectors = IsAffine(layout.kind) ? 2 : 1;
  const bool separate = format.kind == FormatKind::kAffine;
  const Bytes block_bytes = format.kind == FormatKind::kQ4_0   ? 18
                            : format.kind == FormatKind::kQ4_1 ? 20
                                                               : 34;
  for (std::int64_t g = 0; g < k / layout.group; ++g) {
    for (int v = 0; v < vectors; ++v) {
      const std::uint8_t* from = separate ? (v == 0 ? row.scales : row.biases) + g * size
                                          : row.data + g * block_bytes + v * size;
      std::uint8_t* to =
          out + layout.scales_offset + ((g * vectors + v) * kPanelRows + lane) * size;
      std::memcpy(to, from, static_cast<std::size_t>(size));
    }
  }
}

void PackLane(const Format& format, const PanelLayout& layout, const SourceRow& row, int lane,
              std::int64_t k, std::uint8_t* out) {
  const int words = WordsOf(layout.kind);
  if (words == 0) {
    const int size = PlainBytes(layout.kind);
    for (std::int64_t i = 0; i < k; ++i) {
      std::memcpy(out + (i * kPanelRows + lane) * size, row.data + i * size,
                  static_cast<std::size_t>(size));
    }
    return;
  }
  for (std::int64_t g = 0; g < k / kGroup; ++g) {
    std::uint8_t packed[4 * kMaxWords];
    PackGroup(format, words, row.data, g, packed);
    std::uint8_t* to = out + g * words * kVector + 4 * lane;
    for (int w = 0; w < words; ++w) std::memcpy(to + w * kVector, packed + 4 * w, 4);
  }
  PackScales(format, layout, row, lane, k, out);
}

float ReadScale(const std::uint8_t* data, std::int64_t index, DType dtype) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, data + index * 4, 4);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, data + index * 2, 2);
  return dtype == DType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
}

int ReadCode(const std::uint8_t* panel, int words, int lane, std::int64_t k) {
  const std::uint8_t* group = panel + k / kGroup * words * kVector + 4 * lane;
  const int i = static_cast<int>(k % kGroup);
  if (words == 8) return group[i / 4 * kVector + i % 4];
  const int within = i % 16;
  const int byte = group[within / 4 * kVector + within % 4];
  const int low = i < 16 ? byte & 15 : byte >> 4;
  if (words == 4) return low;
  const int high = group[(4 + i / 16) * kVector + i % 4] >> (within / 4 * 2);
  return low | (high & 3) << 4;
}

}  // namespace

PanelLayout LayoutPanel(const Format& format, std::int64_t k) {
  PanelLayout layout;
  layout.kind = KindOf(format);
  const int words = WordsOf(layout.kind);
  if (words == 0) {
    layout.bytes = RoundUp(k * kPanelRows * PlainBytes(layout.kind), kVector);
    return layout;
  }
  Bytes scale_bytes = 0;
  if (format.kind == FormatKind::kQ6_K) {
    layout.group = 16;
    scale_bytes = k / kSuperBlock * 2 * kPanelRows + k / 16 * kPanelRows;
  } else {
    if (format.kind == FormatKind::kAffine) {
      layout.group = format.group;
      layout.scale_dtype = format.scale_dtype;
    }
    scale_bytes = k / layout.group * kPanelRows * DTypeBytes(layout.scale_dtype) *
                  (IsAffine(layout.kind) ? 2 : 1);
  }
  layout.scales_offset = k / kGroup * words * kVector;
  layout.bytes = RoundUp(layout.scales_offset + scale_bytes, kVector);
  return layout;
}

Bytes PanelBytes(const Format& format, std::int64_t n, std::int64_t k) {
  return CeilDiv(n, kPanelRows) * LayoutPanel(format, k).bytes;
}

void PackPanels(const WeightView& source, std::int64_t expert, std::uint8_t* out,
                ThreadPool& pool) {
  const PanelLayout layout = LayoutPanel(source.format, source.k);
  const RowBytes row_bytes = FormatRowBytes(source.format, source.k).value();
  pool.Run(CeilDiv(source.n, kPanelRows), [&](std::int64_t panel) {
    std::uint8_t* const to = out + panel * layout.bytes;
    const std::int64_t first = panel * kPanelRows;
    const int lanes = static_cast<int>(std::min<std::int64_t>(kPanelRows, source.n - first));
    if (lanes < kPanelRows || layout.kind == PanelKind::kQ6K) {
      std::memset(to, 0, static_cast<std::size_t>(layout.bytes));
    }
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t row = expert * source.n + first + lane;
      const SourceRow from = {source.data + row * row_bytes.data,
                              source.scales + row * row_bytes.scales,
                              source.biases + row * row_bytes.biases};
      PackLane(source.format, layout, from, lane, source.k, to);
    }
  });
}

void UnpackPanelRow(const Format& format, std::int64_t k, const std::uint8_t* data,
                    std::int64_t row, float* out) {
  const PanelLayout layout = LayoutPanel(format, k);
  const std::uint8_t* const panel = data + row / kPanelRows * layout.bytes;
  const int lane = static_cast<int>(row % kPanelRows);
  const int words = WordsOf(layout.kind);
  if (words == 0) {
    const DType dtype = layout.kind == PanelKind::kF32   ? DType::kF32
                        : layout.kind == PanelKind::kF16 ? DType::kF16
                                                         : DType::kBF16;
    for (std::int64_t i = 0; i < k; ++i) out[i] = ReadScale(panel, i * kPanelRows + lane, dtype);
    return;
  }
  const std::uint8_t* const scales = panel + layout.scales_offset;
  if (layout.kind == PanelKind::kQ6K) {
    const std::uint8_t* const sub = scales + k / kSuperBlock * 2 * kPanelRows;
    for (std::int64_t i = 0; i < k; ++i) {
      const float d = ReadScale(scales, i / kSuperBlock * kPanelRows + lane, DType::kF16);
      const auto scale = static_cast<std::int8_t>(sub[i / 16 * kPanelRows + lane]);
      out[i] =
          d * static_cast<float>(scale) * static_cast<float>(ReadCode(panel, words, lane, i) - 32);
    }
    return;
  }
  const bool affine = IsAffine(layout.kind);
  const int zero = layout.kind == PanelKind::kSymmetric4   ? 8
                   : layout.kind == PanelKind::kSymmetric8 ? 128
                                                           : 0;
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t at = i / layout.group * (affine ? 2 : 1) * kPanelRows + lane;
    const float d = ReadScale(scales, at, layout.scale_dtype);
    const float product = d * static_cast<float>(ReadCode(panel, words, lane, i) - zero);
    out[i] = affine ? product + ReadScale(scales, at + kPanelRows, layout.scale_dtype) : product;
  }
}

}  // namespace tonnage
