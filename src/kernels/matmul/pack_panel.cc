#include "kernels/matmul/pack_panel.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "base/vector.h"
#include "quant/block_scales.h"

namespace tonnage {
namespace {

using SourceRows = std::span<const SourceRow>;

// One 32-bit word of each row, four rows to a vector.
struct Words {
  Word4 fours[kPanelRows / 4];
};
// The codes of 32 elements: word c holds elements 4c..4c+3, a byte each.
using CodeWords = Words[8];

// --- codes out of the checkpoint ---

// kCount (1, 2 or 4) consecutive words of each of four rows, from byte `at`.
template <int kCount>
void GatherFour(const SourceRow* rows, Bytes at, Word4* out) {
  if constexpr (kCount == 4) {
    for (int r = 0; r < 4; ++r) out[r] = LoadVector<Word4>(rows[r].data + at);
    Transpose4(out);
  } else if constexpr (kCount == 2) {
    Word4 pairs[2];
    for (int r = 0; r < 4; ++r)
      std::memcpy(reinterpret_cast<std::uint8_t*>(pairs) + 8 * r, rows[r].data + at, 8);
    out[0] = __builtin_shufflevector(pairs[0], pairs[1], 0, 2, 4, 6);
    out[1] = __builtin_shufflevector(pairs[0], pairs[1], 1, 3, 5, 7);
  } else {
    std::uint32_t words[4];
    for (int r = 0; r < 4; ++r) std::memcpy(&words[r], rows[r].data + at, 4);
    std::memcpy(out, words, sizeof words);
  }
}

// Consecutive words of each of 16 rows, from byte `at`.
template <int kCount>
void Gather(SourceRows rows, Bytes at, Words* out) {
  constexpr int kTaken = kCount >= 4 ? 4 : kCount >= 2 ? 2 : 1;
  for (std::size_t four = 0; four < kPanelRows / 4; ++four) {
    Word4 words[kTaken];
    GatherFour<kTaken>(&rows[4 * four], at, words);
    for (int w = 0; w < kTaken; ++w) out[w].fours[four] = words[w];
  }
  if constexpr (kCount > kTaken) Gather<kCount - kTaken>(rows, at + 4 * kTaken, out + kTaken);
}

template <typename Op>
void Each(Words& words, Op op) {
  for (Word4& four : words.fours) four = op(four);
}

// out = op(out, a), row by row.
template <typename Op>
void Combine(Words& out, const Words& a, Op op) {
  for (int i = 0; i < kPanelRows / 4; ++i) out.fours[i] = op(out.fours[i], a.fours[i]);
}

// Moves four codes of kBits bits, side by side, into a byte each.
template <int kBits>
Word4 Spread(Word4 four) {
  if constexpr (kBits < 8) {
    constexpr std::uint32_t kPairs = (1u << 2 * kBits) - 1, kOnes = (1u << kBits) - 1;
    four = (four & kPairs) | (four & kPairs << 2 * kBits) << (16 - 2 * kBits);
    four = (four & kOnes * 0x10001) | (four & (kOnes << kBits) * 0x10001) << (8 - kBits);
  }
  return four;
}

// Codes 4c..4c+3 of a bitstream, for every c from kC.
template <int kBits, int kC = 0>
void SpreadStream(const Words* stream, Words* codes) {
  constexpr int kWord = kC * kBits / 8, kShift = kC * kBits % 8 * 4;
  for (int i = 0; i < kPanelRows / 4; ++i) {
    Word4 four = stream[kWord].fours[i] >> kShift;
    if constexpr (kShift + 4 * kBits > 32) four |= stream[kWord + 1].fours[i] << (32 - kShift);
    codes[kC].fours[i] = Spread<kBits>(four);
  }
  if constexpr (kC < 7) SpreadStream<kBits, kC + 1>(stream, codes);
}

// A bitstream of 32 codes: `kBits` words.
template <int kBits>
void StreamCodes(SourceRows rows, std::int64_t g, Words* codes) {
  Words stream[kBits];
  Gather<kBits>(rows, g * 4 * kBits, stream);
  SpreadStream<kBits>(stream, codes);
}

void StreamCodes(int bits, SourceRows rows, std::int64_t g, Words* codes) {
  switch (bits) {
    case 2:
      return StreamCodes<2>(rows, g, codes);
    case 3:
      return StreamCodes<3>(rows, g, codes);
    case 4:
      return StreamCodes<4>(rows, g, codes);
    case 5:
      return StreamCodes<5>(rows, g, codes);
    case 6:
      return StreamCodes<6>(rows, g, codes);
    default:
      return Gather<8>(rows, g * 32, codes);
  }
}

// 16 bytes: elements 0..15 in their low, 16..31 in their high nibbles.
void NibbleCodes(SourceRows rows, Bytes at, Words* codes) {
  Gather<4>(rows, at, codes);
  for (int v = 0; v < 4; ++v) {
    codes[v + 4] = codes[v];
    Each(codes[v], [](auto w) { return w & 0x0f0f0f0fu; });
    Each(codes[v + 4], [](auto w) { return w >> 4 & 0x0f0f0f0fu; });
  }
}

// 32 bytes that hold an element of several groups each, at bit `shift`.
void LayerCodes(SourceRows rows, Bytes at, int shift, std::uint32_t mask, Words* codes) {
  Gather<8>(rows, at, codes);
  for (int c = 0; c < 8; ++c) {
    Each(codes[c], [=](auto w) { return w >> shift & mask; });
  }
}

// Adds such a layer above the low bits.
void AddLayer(SourceRows rows, Bytes at, int shift, std::uint32_t mask, int to, Words* codes) {
  CodeWords layer;
  LayerCodes(rows, at, shift, mask, layer);
  for (int c = 0; c < 8; ++c) {
    Combine(codes[c], layer[c], [=](auto code, auto bits) { return code | bits << to; });
  }
}

// Adds fifth bits: bit i of 4 bytes belongs to element i.
void AddFifthBits(SourceRows rows, Bytes at, Words* codes) {
  Words bits;
  Gather<1>(rows, at, &bits);
  for (int c = 0; c < 8; ++c) {
    Combine(codes[c], bits, [=](auto code, auto w) { return code | Spread<1>(w >> (4 * c)) << 4; });
  }
}

constexpr std::uint32_t kOneBit = 0x01010101, kTwoBits = 0x03030303, kNibble = 0x0f0f0f0f;

// The codes of elements [32 g, 32 g + 32).
void ReadCodes(const Format& format, SourceRows rows, std::int64_t g, Words* codes) {
  const int j = static_cast<int>(g % 8);  // within a super-block
  switch (format.kind) {
    case FormatKind::kQ5_0:
      NibbleCodes(rows, g * 22 + 6, codes);
      return AddFifthBits(rows, g * 22 + 2, codes);
    case FormatKind::kQ5_1:
      NibbleCodes(rows, g * 24 + 8, codes);
      return AddFifthBits(rows, g * 24 + 4, codes);
    case FormatKind::kQ8_0:
      Gather<8>(rows, g * 34 + 2, codes);
      for (int c = 0; c < 8; ++c) {
        Each(codes[c], [](auto w) { return w ^ 0x80808080u; });
      }
      return;
    case FormatKind::kQ2_K:
      return LayerCodes(rows, g / 8 * 84 + 16 + j / 4 * 32, 2 * (j % 4), kTwoBits, codes);
    case FormatKind::kQ3_K:
      LayerCodes(rows, g / 8 * 110 + 32 + j / 4 * 32, 2 * (j % 4), kTwoBits, codes);
      return AddLayer(rows, g / 8 * 110, j, kOneBit, 2, codes);
    case FormatKind::kQ4_K:
      return LayerCodes(rows, g / 8 * 144 + 16 + j / 2 * 32, 4 * (j % 2), kNibble, codes);
    case FormatKind::kQ5_K:
      LayerCodes(rows, g / 8 * 176 + 48 + j / 2 * 32, 4 * (j % 2), kNibble, codes);
      return AddLayer(rows, g / 8 * 176 + 16, j, kOneBit, 4, codes);
    case FormatKind::kQ6_K:
      LayerCodes(rows, g / 8 * 210 + j / 4 * 64 + j % 2 * 32, 4 * (j % 4 / 2), kNibble, codes);
      return AddLayer(rows, g / 8 * 210 + 128 + j / 4 * 32, 2 * (j % 4), kTwoBits, 4, codes);
    case FormatKind::kAffine:
      return StreamCodes(format.bits, rows, g, codes);
    default:
      return StreamCodes<4>(rows, g, codes);
  }
}

// Where in a row the 16 bytes of a group of GGUF's nibbles lie, which are in a panel's order
// already; -1 for other formats.
Bytes NibblesAt(FormatKind kind, std::int64_t g) {
  switch (kind) {
    case FormatKind::kQ4_0:
    case FormatKind::kIQ4_NL:
      return g * 18 + 2;
    case FormatKind::kQ4_1:
      return g * 20 + 4;
    case FormatKind::kMxfp4Gguf:
      return g * 17 + 1;
    case FormatKind::kIQ4_XS:
      return g / 8 * 136 + 8 + g % 8 * 16;
    default:
      return -1;
  }
}

// --- codes into a panel ---

// Pairs of bits, four to a byte.
void PackPairs(const Words* codes, int from, Words* out) {
  for (int h = 0; h < 2; ++h) {
    out[h] = {};
    for (int i = 0; i < 4; ++i) {
      Combine(out[h], codes[4 * h + i],
              [=](auto word, auto code) { return word | (code >> from & kTwoBits) << (2 * i); });
    }
  }
}

// Single bits, eight to a byte.
void PackSingles(const Words* codes, int from, Words* out) {
  *out = {};
  for (int c = 0; c < 8; ++c) {
    Combine(*out, codes[c],
            [=](auto word, auto code) { return word | (code >> from & kOneBit) << c; });
  }
}

void PackNibbles(const Words* codes, Words* out) {
  for (int v = 0; v < 4; ++v) {
    out[v] = codes[v];
    Combine(out[v], codes[v + 4],
            [](auto low, auto high) { return (low & kNibble) | (high & kNibble) << 4; });
  }
}

void PackCodes(const Words* codes, int bits, std::uint8_t* to) {
  CodeWords out;
  const int base = bits < 4 ? 2 : 4;
  if (bits == 8) {
    std::copy_n(codes, 8, out);
  } else {
    if (base == 2) PackPairs(codes, 0, out);
    if (base == 4) PackNibbles(codes, out);
    if (bits - base == 2) PackPairs(codes, base, out + base);
    if (bits - base == 1) PackSingles(codes, base, out + base);
  }
  std::memcpy(to, out, static_cast<std::size_t>(bits) * sizeof(Words));
}

// Elements of one byte: [32][16].
void PackBytes(SourceRows rows, Bytes at, std::uint8_t* to) {
  for (int half = 0; half < 2; ++half, at += 16, to += 256) {
    Byte16 block[kPanelRows];
    for (std::size_t lane = 0; lane < kPanelRows; ++lane)
      block[lane] = LoadVector<Byte16>(rows[lane].data + at);
    Transpose16(block);
    std::memcpy(to, block, sizeof block);
  }
}

void PackGroup(const Format& format, const PanelLayout& layout, SourceRows rows, std::int64_t g,
               std::uint8_t* to) {
  const PanelTraits traits = TraitsOf(layout.kind);
  if (traits.codes == Codes::kE4m3) return PackBytes(rows, g * kPanelGroup, to);
  if (const Bytes at = NibblesAt(format.kind, g); at >= 0) {
    Words words[4];
    Gather<4>(rows, at, words);
    std::memcpy(to, words, sizeof words);
    return;
  }
  CodeWords codes;
  ReadCodes(format, rows, g, codes);
  PackCodes(codes, traits.bits, to);
}

// --- scales ---

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

void PackData(SourceRows rows, Bytes size, Bytes at, std::uint8_t* to) {
  PackVector(
      rows, size, [=](const SourceRow& row) { return row.data + at; }, to);
}

// `byte_of(data of the row, index)` for each of `count` bytes of each row.
template <typename ByteOf>
void PackByteScales(SourceRows rows, Bytes at, int count, ByteOf&& byte_of, std::uint8_t* to) {
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    const std::uint8_t* const data = rows[lane].data + at;
    for (int i = 0; i < count; ++i)
      to[static_cast<std::size_t>(i) * kPanelRows + lane] =
          static_cast<std::uint8_t>(byte_of(data, i));
  }
}

std::uint8_t ByteAt(const std::uint8_t* data, int index) { return data[index]; }

// d and m of two bytes each, the second with its sign turned.
void PackSuperAffine(SourceRows rows, Bytes at, std::uint8_t* chunk) {
  PackData(rows, 2, at, chunk);
  std::uint8_t* const m = chunk + 2 * kPanelRows;
  PackData(rows, 2, at + 2, m);
  for (std::size_t lane = 0; lane < rows.size(); ++lane) m[2 * lane + 1] ^= 0x80;
}

// Super-blocks of 256, one a chunk, whose first byte is at `at` of each row.
void PackSuperScales(FormatKind kind, SourceRows rows, Bytes at, std::uint8_t* chunk) {
  constexpr Bytes kVector = 2 * kPanelRows;
  switch (kind) {
    case FormatKind::kQ3_K:
      PackData(rows, 2, at + 108, chunk);
      return PackByteScales(rows, at + 96, 16, Q3KScale, chunk + kVector);
    case FormatKind::kQ6_K:
      PackData(rows, 2, at + 208, chunk);
      return PackByteScales(rows, at + 192, 16, ByteAt, chunk + kVector);
    case FormatKind::kIQ4_XS:
      PackData(rows, 2, at, chunk);
      return PackByteScales(rows, at + 2, 8, Iq4XsScale, chunk + kVector);
    case FormatKind::kQ2_K:
      PackSuperAffine(rows, at + 80, chunk);
      return PackByteScales(rows, at, 16, ByteAt, chunk + 2 * kVector);
    case FormatKind::kQ4_K:
    case FormatKind::kQ5_K: {
      PackSuperAffine(rows, at, chunk);
      const auto scale_or_min = [](const std::uint8_t* scales, int i) {
        const ScaleAndMin s = KScaleAndMin(scales, i % 8);
        return i < 8 ? s.scale : s.min;
      };
      return PackByteScales(rows, at + 4, 16, scale_or_min, chunk + 2 * kVector);
    }
    default:
      CHECK(false) << Format::Of(kind).Name() << " has no super-blocks";
  }
}

// `count` bytes of the scales' tensor from byte `at`, or for GGUF the first byte of as many blocks.
void PackFloatScales(FormatKind kind, SourceRows rows, std::int64_t at, std::int64_t count,
                     std::uint8_t* to) {
  for (std::int64_t i = at; i < at + count; ++i, to += kPanelRows) {
    PackVector(
        rows, 1,
        [&](const SourceRow& row) {
          return kind == FormatKind::kMxfp4Gguf ? row.data + 17 * i : row.scales + i;
        },
        to);
  }
}

void PackFactors(FormatKind kind, SourceRows rows, std::uint8_t* to) {
  for (const SourceRow& row : rows) {
    float factor = 1;
    if (kind == FormatKind::kNvfp4Global) std::memcpy(&factor, row.biases, sizeof factor);
    factor *= 0.5f;
    std::memcpy(to, &factor, sizeof factor);
    to += sizeof factor;
  }
}

// The scales of the chunk that begins at element k, `groups` times 32 elements long. `block` is the
// bytes of one of the format's blocks.
void PackScales(const Format& format, const PanelLayout& layout, SourceRows rows, Bytes block,
                std::int64_t k, std::int64_t groups, std::uint8_t* chunk) {
  const Bytes size = DTypeBytes(layout.scale_dtype);
  const std::int64_t index = k / layout.chunk;
  switch (TraitsOf(layout.kind).scaling) {
    case Scaling::kNone:
      return;
    case Scaling::kPair:
      for (std::int64_t g = 0; g < groups; ++g)
        PackData(rows, 2, (k / kPanelGroup + g) * block, chunk + g * 2 * kPanelRows);
      return;
    case Scaling::kAffine:
      if (format.kind != FormatKind::kAffine) {
        PackData(rows, 2, index * block, chunk);
        return PackData(rows, 2, index * block + 2, chunk + 2 * kPanelRows);
      }
      PackVector(
          rows, size, [&](const SourceRow& row) { return row.biases + size * index; },
          chunk + size * kPanelRows);
      [[fallthrough]];
    case Scaling::kGroup:
      return PackVector(
          rows, size, [&](const SourceRow& row) { return row.scales + size * index; }, chunk);
    case Scaling::kSuper:
    case Scaling::kSuperAffine:
      return PackSuperScales(format.kind, rows, index * block, chunk);
    case Scaling::kE8m0:
      return PackFloatScales(format.kind, rows, k / 32, groups, chunk);
    case Scaling::kE4m3:
      PackFactors(format.kind, rows, chunk);
      return PackFloatScales(format.kind, rows, k / 16, 2 * groups, chunk + 4 * kPanelRows);
  }
}

// --- plain elements ---

// 8 elements of two bytes of each of 16 rows.
void PackHalves(SourceRows rows, Bytes at, std::uint8_t* to) {
  for (std::size_t lane = 0; lane < kPanelRows; lane += 8) {
    Half8 block[8];
    for (std::size_t r = 0; r < 8; ++r) block[r] = LoadVector<Half8>(rows[lane + r].data + at);
    Transpose8(block);
    for (std::size_t i = 0; i < 8; ++i)
      std::memcpy(to + 2 * (i * kPanelRows + lane), &block[i], sizeof(Half8));
  }
}

// Elements of `size` bytes, 2 or 4.
void PackPlain(SourceRows rows, Bytes size, std::int64_t k, std::uint8_t* out) {
  constexpr std::int64_t kStep = 8;
  std::int64_t i = 0;
  if (rows.size() == kPanelRows) {
    for (; i + kStep <= k; i += kStep, out += kStep * kPanelRows * size) {
      if (size == 2) {
        PackHalves(rows, i * size, out);
      } else {
        CodeWords words;
        Gather<kStep>(rows, i * size, words);
        std::memcpy(out, words, sizeof words);
      }
    }
  }
  for (; i < k; ++i, out += kPanelRows * size) PackData(rows, size, i * size, out);
}

}  // namespace

void PackPanel(const Format& format, const PanelLayout& layout, std::span<const SourceRow> rows,
               std::int64_t k, std::uint8_t* out) {
  const int bits = TraitsOf(layout.kind).bits;
  if (rows.size() < kPanelRows) std::memset(out, 0, static_cast<std::size_t>(layout.bytes));
  const Bytes block = FormatRowBytes(format, format.BlockElements())->data;
  if (bits == 0) return PackPlain(rows, block, k, out);
  std::uint8_t* chunk = out;
  // Codes of lanes without a row are those of the last one; their scales are zeros.
  SourceRow all[kPanelRows];
  for (std::size_t lane = 0; lane < kPanelRows; ++lane)
    all[lane] = rows[std::min(lane, rows.size() - 1)];
  for (std::int64_t first = 0; first < k; first += layout.chunk, chunk += layout.chunk_bytes) {
    const std::int64_t groups = std::min<std::int64_t>(layout.chunk, k - first) / kPanelGroup;
    std::memset(chunk, 0, static_cast<std::size_t>(layout.scale_bytes));
    PackScales(format, layout, rows, block, first, groups, chunk);
    std::uint8_t* codes = chunk + layout.scale_bytes;
    for (std::int64_t g = 0; g < groups; ++g, codes += bits * 4 * kPanelRows)
      PackGroup(format, layout, all, first / kPanelGroup + g, codes);
  }
}

}  // namespace tonnage
