#include "kernels/matmul/panel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

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
    default:
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

// Where in a panel the codes of elements [32 g, 32 g + 32) begin.
Bytes CodesOffset(const PanelLayout& layout, std::int64_t g) {
  const std::int64_t k = g * kGroup;
  return k / layout.chunk * layout.chunk_bytes + layout.scale_bytes +
         k % layout.chunk / kGroup * WordsOf(layout.kind) * kVector;
}

// Where scale vector `vector` of the chunk that holds element k begins.
Bytes ScaleOffset(const PanelLayout& layout, std::int64_t k, std::int64_t vector) {
  return k / layout.chunk * layout.chunk_bytes +
         vector * kPanelRows * DTypeBytes(layout.scale_dtype);
}

// One row of the checkpoint's matrix; a panel is packed from up to 16 of them.
struct SourceRow {
  const std::uint8_t* data = nullptr;
  const std::uint8_t* scales = nullptr;
  const std::uint8_t* biases = nullptr;
};
using SourceRows = std::span<const SourceRow>;

// One number of each row side by side, of 1, 2 or 4 bytes.
template <typename From>
void PackVector(SourceRows rows, Bytes size, From&& from, std::uint8_t* to) {
  const auto copy = [&](auto constant_size) {
    for (const SourceRow& row : rows) {
      std::memcpy(to, from(row), constant_size);
      to += constant_size;
    }
  };
  if (size == 4) return copy(std::integral_constant<std::size_t, 4>{});
  if (size == 2) return copy(std::integral_constant<std::size_t, 2>{});
  copy(std::integral_constant<std::size_t, 1>{});
}

// The scales of the chunk that begins at element k, `groups` times 32 elements long.
void PackScales(const Format& format, const PanelLayout& layout, SourceRows rows, std::int64_t k,
                std::int64_t groups, std::uint8_t* chunk) {
  const Bytes size = DTypeBytes(layout.scale_dtype);
  const std::int64_t block = k / layout.chunk;
  const auto pack = [&](std::int64_t vector, auto&& from) {
    PackVector(rows, size, from, chunk + vector * kPanelRows * size);
  };
  switch (format.kind) {
    case FormatKind::kQ4_0:
    case FormatKind::kQ8_0:
      for (std::int64_t g = 0; g < groups; ++g) {
        const Bytes at = (k / kGroup + g) * (format.kind == FormatKind::kQ4_0 ? 18 : 34);
        pack(g, [&](const SourceRow& row) { return row.data + at; });
      }
      return;
    case FormatKind::kQ4_1:
      pack(0, [&](const SourceRow& row) { return row.data + 20 * block; });
      pack(1, [&](const SourceRow& row) { return row.data + 20 * block + 2; });
      return;
    case FormatKind::kQ6_K: {
      const Bytes at = block * kSuperBlockBytes;
      pack(0, [&](const SourceRow& row) { return row.data + at + 208; });
      for (int s = 0; s < 16; ++s) {
        PackVector(
            rows, 1, [&](const SourceRow& row) { return row.data + at + 192 + s; },
            chunk + (2 + s) * kPanelRows);
      }
      return;
    }
    default:
      pack(0, [&](const SourceRow& row) { return row.scales + size * block; });
      pack(1, [&](const SourceRow& row) { return row.biases + size * block; });
  }
}

void PackPanel(const Format& format, const PanelLayout& layout, SourceRows rows, std::int64_t k,
               std::uint8_t* out) {
  const int words = WordsOf(layout.kind);
  if (words == 0) {
    const Bytes size = PlainBytes(layout.kind);
    for (std::int64_t i = 0; i < k; ++i) {
      PackVector(
          rows, size, [&](const SourceRow& row) { return row.data + i * size; },
          out + i * kPanelRows * size);
    }
    return;
  }
  std::uint8_t* chunk = out;
  for (std::int64_t first = 0; first < k; first += layout.chunk, chunk += layout.chunk_bytes) {
    const std::int64_t groups = std::min<std::int64_t>(layout.chunk, k - first) / kGroup;
    PackScales(format, layout, rows, first, groups, chunk);
    std::uint8_t* codes = chunk + layout.scale_bytes;
    for (std::int64_t g = 0; g < groups; ++g, codes += words * kVector) {
      for (std::size_t lane = 0; lane < rows.size(); ++lane) {
        std::uint8_t packed[4 * kMaxWords];
        PackGroup(format, words, rows[lane].data, first / kGroup + g, packed);
        for (int w = 0; w < words; ++w)
          std::memcpy(codes + w * kVector + 4 * lane, packed + 4 * w, 4);
      }
    }
  }
}

float ReadNumber(const std::uint8_t* data, std::int64_t index, DType dtype) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, data + index * 4, 4);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, data + index * 2, 2);
  return dtype == DType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
}

// The codes of one lane of a packed group.
void UnpackCodes(const std::uint8_t* group, int words, int lane, std::uint8_t* codes) {
  std::uint8_t packed[4 * kMaxWords];
  for (int w = 0; w < words; ++w) std::memcpy(packed + 4 * w, group + w * kVector + 4 * lane, 4);
  if (words == 8) {
    std::memcpy(codes, packed, kGroup);
    return;
  }
  for (int i = 0; i < kGroup; ++i) {
    codes[i] = static_cast<std::uint8_t>(i < 16 ? packed[i] & 15 : packed[i - 16] >> 4);
    if (words == 4) continue;
    const int high = packed[16 + i / 16 * 4 + i % 4] >> (i % 16 / 4 * 2);
    codes[i] = static_cast<std::uint8_t>(codes[i] | (high & 3) << 4);
  }
}

void UnpackGroup(const PanelLayout& layout, const std::uint8_t* panel, int lane, std::int64_t g,
                 float* out) {
  std::uint8_t codes[kGroup];
  UnpackCodes(panel + CodesOffset(layout, g), WordsOf(layout.kind), lane, codes);
  const std::int64_t k = g * kGroup;
  const auto scale = [&](std::int64_t vector) {
    return ReadNumber(panel + ScaleOffset(layout, k, vector), lane, layout.scale_dtype);
  };
  if (IsAffine(layout.kind)) {
    const float d = scale(0), m = scale(1);
    for (int i = 0; i < kGroup; ++i) out[i] = d * static_cast<float>(codes[i]) + m;
  } else if (layout.kind == PanelKind::kQ6K) {
    for (int half = 0; half < kGroup; half += 16) {
      const Bytes own_at = ScaleOffset(layout, k, 1) + (k % kSuperBlock + half) / 16 * kPanelRows;
      const auto own = static_cast<std::int8_t>(panel[own_at + lane]);
      const float d = scale(0) * static_cast<float>(own);
      for (int i = half; i < half + 16; ++i) out[i] = d * static_cast<float>(codes[i] - 32);
    }
  } else {
    const float d = scale(g % 2);
    const int zero = layout.kind == PanelKind::kSymmetric4 ? 8 : 128;
    for (int i = 0; i < kGroup; ++i) out[i] = d * static_cast<float>(codes[i] - zero);
  }
}

}  // namespace

bool HasPanels(const Format& format) {
  switch (format.kind) {
    case FormatKind::kF32:
    case FormatKind::kF16:
    case FormatKind::kBF16:
    case FormatKind::kQ4_0:
    case FormatKind::kQ4_1:
    case FormatKind::kQ8_0:
    case FormatKind::kQ6_K:
    case FormatKind::kAffine:
      return true;
    default:
      return false;
  }
}

PanelLayout LayoutPanel(const Format& format, std::int64_t k) {
  PanelLayout layout;
  layout.kind = KindOf(format);
  const int words = WordsOf(layout.kind);
  if (words == 0) {
    layout.bytes = RoundUp(k * kPanelRows * PlainBytes(layout.kind), kVector);
    return layout;
  }
  if (layout.kind == PanelKind::kQ6K) {
    layout.chunk = kSuperBlock;
    layout.scale_bytes = RoundUp((2 + 16) * kPanelRows, kVector);
  } else if (IsAffine(layout.kind)) {
    const bool grouped = format.kind == FormatKind::kAffine;
    layout.chunk = grouped ? format.group : kGroup;
    if (grouped) layout.scale_dtype = format.scale_dtype;
    layout.scale_bytes = 2 * kPanelRows * DTypeBytes(layout.scale_dtype);
  } else {
    layout.chunk = 2 * kGroup;
    layout.scale_bytes = 2 * kPanelRows * DTypeBytes(layout.scale_dtype);
  }
  layout.chunk_bytes = layout.scale_bytes + layout.chunk / kGroup * words * kVector;
  layout.bytes = k / layout.chunk * layout.chunk_bytes;
  if (k % layout.chunk != 0) layout.bytes += layout.scale_bytes + words * kVector;
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
    const std::int64_t lanes = std::min<std::int64_t>(kPanelRows, source.n - first);
    if (lanes < kPanelRows) std::memset(to, 0, static_cast<std::size_t>(layout.bytes));
    SourceRow rows[kPanelRows];
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t row = expert * source.n + first + lane;
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
  if (WordsOf(layout.kind) == 0) {
    const DType dtype = layout.kind == PanelKind::kF32   ? DType::kF32
                        : layout.kind == PanelKind::kF16 ? DType::kF16
                                                         : DType::kBF16;
    for (std::int64_t i = 0; i < k; ++i) out[i] = ReadNumber(panel, i * kPanelRows + lane, dtype);
    return;
  }
  for (std::int64_t g = 0; g < k / kGroup; ++g) {
    UnpackGroup(layout, panel, lane, g, out + g * kGroup);
  }
}

}  // namespace tonnage
