#include "quant/unpack.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "quant/block_scales.h"
#include "quant/minifloat.h"
#include "tensor/numbers.h"

namespace tonnage {
namespace {

static_assert(std::endian::native == std::endian::little, "stored numbers are little-endian");

std::uint16_t LoadU16(const std::uint8_t* from) {
  std::uint16_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float LoadF16(const std::uint8_t* from) { return F16ToF32(LoadU16(from)); }

float NumberAt(DType dtype, const std::uint8_t* row, size_t index) {
  return LoadNumber(dtype, row + index * static_cast<size_t>(DTypeBytes(dtype)));
}

void UnpackFloats(DType dtype, const std::uint8_t* row, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = NumberAt(dtype, row, i);
}

// --- GGUF: blocks of 32 ---

// Element i of the first 16 is the low nibble of byte i; element 16 + i is its high nibble.
int Nibble(const std::uint8_t* bytes, size_t i) {
  return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4;
}

int Bit(const std::uint8_t* bytes, size_t i) { return bytes[i / 8] >> (i % 8) & 1; }

// f16 d, 16 bytes of nibbles; w = d * (q - 8)
void UnpackQ4_0(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 18) {
    const float d = LoadF16(block);
    for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(Nibble(block + 2, i) - 8);
  }
}

// f16 d, f16 m, 16 bytes of nibbles; w = d * q + m
void UnpackQ4_1(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 20) {
    const float d = LoadF16(block), m = LoadF16(block + 2);
    for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(Nibble(block + 4, i)) + m;
  }
}

// f16 d, 4 bytes of fifth bits, 16 bytes of nibbles; w = d * (q - 16)
void UnpackQ5_0(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 22) {
    const float d = LoadF16(block);
    for (size_t i = 0; i < 32; ++i) {
      const int q = Nibble(block + 6, i) | Bit(block + 2, i) << 4;
      out[i] = d * static_cast<float>(q - 16);
    }
  }
}

// f16 d, f16 m, 4 bytes of fifth bits, 16 bytes of nibbles; w = d * q + m
void UnpackQ5_1(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 24) {
    const float d = LoadF16(block), m = LoadF16(block + 2);
    for (size_t i = 0; i < 32; ++i) {
      const int q = Nibble(block + 8, i) | Bit(block + 4, i) << 4;
      out[i] = d * static_cast<float>(q) + m;
    }
  }
}

// f16 d, 32 int8; w = d * q
void UnpackQ8_0(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 34) {
    const float d = LoadF16(block);
    for (size_t i = 0; i < 32; ++i)
      out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  }
}

// f16 d, 16 bytes of nibbles; w = d * value(q)
void UnpackIQ4_NL(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 18) {
    const float d = LoadF16(block);
    for (size_t i = 0; i < 32; ++i)
      out[i] = d * static_cast<float>(kIq4[static_cast<size_t>(Nibble(block + 2, i))]);
  }
}

// e8m0 d, 16 bytes of nibbles; w = d * e2m1(q)
void UnpackMxfp4Gguf(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 17) {
    const float half = HalfE8m0ToF32(block[0]);
    for (size_t i = 0; i < 32; ++i)
      out[i] = half * static_cast<float>(kTwiceE2m1[static_cast<size_t>(Nibble(block + 1, i))]);
  }
}

// --- GGUF: super-blocks of 256 ---

// 64 bytes of pairs: each half of 128 elements has 32 bytes, and its quarter j of 32 has bits 2j.
int Pair(const std::uint8_t* bytes, size_t i) {
  return bytes[32 * (i / 128) + i % 32] >> (2 * (i / 32 % 4)) & 3;
}

// 128 bytes of nibbles: each quarter of 64 elements has 32 bytes, low nibbles first.
int QuarterNibble(const std::uint8_t* bytes, size_t i) {
  return bytes[32 * (i / 64) + i % 32] >> (4 * (i / 32 % 2)) & 15;
}

// 16 bytes of scale (low) and minimum (high nibble), 64 of pairs, f16 d, f16 dmin; w = d * scale *
// q - dmin * min
void UnpackQ2_K(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 84) {
    const float d = LoadF16(block + 80), dmin = LoadF16(block + 82);
    for (size_t j = 0; j < 16; ++j) {
      const float scale = d * static_cast<float>(block[j] & 15);
      const float min = dmin * static_cast<float>(block[j] >> 4);
      for (size_t i = 16 * j; i < 16 * j + 16; ++i)
        out[i] = scale * static_cast<float>(Pair(block + 16, i)) - min;
    }
  }
}

// 32 bytes of third bits (bit j of byte l is element 32 j + l), 64 of pairs, 12 of scales, f16 d;
// w = d * scale * (q - 4)
void UnpackQ3_K(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 110) {
    const float d = LoadF16(block + 108);
    for (size_t j = 0; j < 16; ++j) {
      const float scale = d * static_cast<float>(Q3KScale(block + 96, static_cast<int>(j)));
      for (size_t i = 16 * j; i < 16 * j + 16; ++i) {
        const int q = Pair(block + 32, i) | (block[i % 32] >> (i / 32) & 1) << 2;
        out[i] = scale * static_cast<float>(q - 4);
      }
    }
  }
}

// `q(i)` gives the code of element i; w = d * scale * q - dmin * min
template <typename CodeOf>
void ScaleK(const std::uint8_t* block, const CodeOf& q, std::span<float> out) {
  const float d = LoadF16(block), dmin = LoadF16(block + 2);
  for (size_t j = 0; j < 8; ++j) {
    const ScaleAndMin s = KScaleAndMin(block + 4, static_cast<int>(j));
    const float scale = d * static_cast<float>(s.scale), min = dmin * static_cast<float>(s.min);
    for (size_t i = 32 * j; i < 32 * j + 32; ++i) out[i] = scale * static_cast<float>(q(i)) - min;
  }
}

// f16 d, f16 dmin, 12 bytes of scales, 128 of nibbles
void UnpackQ4_K(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 144) {
    ScaleK(
        block, [&](size_t i) { return QuarterNibble(block + 16, i); }, out);
  }
}

// f16 d, f16 dmin, 12 bytes of scales, 32 of fifth bits (as in q3_k), 128 of nibbles
void UnpackQ5_K(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 176) {
    const auto code = [&](size_t i) {
      return QuarterNibble(block + 48, i) | (block[16 + i % 32] >> (i / 32) & 1) << 4;
    };
    ScaleK(block, code, out);
  }
}

// 128 bytes of nibbles, 64 of pairs, 16 int8 scales, f16 d; w = d * scale * (q - 32). Each half of
// 128 elements is four quarters of 32: the low nibbles of its 64 bytes are quarters 0 and 1, the
// high ones 2 and 3.
void UnpackQ6_K(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 210) {
    const float d = LoadF16(block + 208);
    for (size_t j = 0; j < 16; ++j) {
      const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + j]));
      for (size_t i = 16 * j; i < 16 * j + 16; ++i) {
        const int low = block[64 * (i / 128) + i % 64] >> (4 * (i / 64 % 2)) & 15;
        const int q = (low | Pair(block + 128, i) << 4) - 32;
        out[i] = scale * static_cast<float>(q);
      }
    }
  }
}

// f16 d, 6 bytes of scales, and for every 32 elements 16 bytes of nibbles; w = d * scale * value(q)
void UnpackIQ4_XS(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 136) {
    const float d = LoadF16(block);
    for (size_t j = 0; j < 8; ++j) {
      const float scale = d * static_cast<float>(Iq4XsScale(block + 2, static_cast<int>(j)));
      for (size_t i = 0; i < 32; ++i) {
        const int q = Nibble(block + 8 + 16 * j, i);
        out[32 * j + i] = scale * static_cast<float>(kIq4[static_cast<size_t>(q)]);
      }
    }
  }
}

// --- MLX and Hugging Face: parts in tensors of their own ---

// One row of a weight in its parts.
struct RowParts {
  const std::uint8_t* data;
  const std::uint8_t* scales;
  const std::uint8_t* biases;
};

// w = q * scale + bias. Element i of a row is at bits [i * bits, (i + 1) * bits), least significant
// first.
void UnpackAffine(const Format& format, const RowParts& row, std::span<float> out) {
  const auto bits = static_cast<size_t>(format.bits), group = static_cast<size_t>(format.group);
  for (size_t begin = 0; begin < out.size(); begin += group) {
    const float scale = NumberAt(format.scale_dtype, row.scales, begin / group);
    const float bias = NumberAt(format.scale_dtype, row.biases, begin / group);
    for (size_t i = begin; i < begin + group; ++i) {
      const size_t byte = i * bits / 8, shift = i * bits % 8;
      unsigned word = row.data[byte];
      if (shift + bits > 8) word |= static_cast<unsigned>(row.data[byte + 1]) << 8;
      const unsigned q = word >> shift & ((1u << bits) - 1);
      out[i] = static_cast<float>(q) * scale + bias;
    }
  }
}

// Element i is nibble i of the row.
float E2m1At(const std::uint8_t* row, size_t i) {
  const int code = row[i / 2] >> (4 * (i % 2)) & 15;
  return 0.5f * static_cast<float>(kTwiceE2m1[static_cast<size_t>(code)]);
}

// w = e2m1(q) * e8m0 of 32
void UnpackMxfp4(const RowParts& row, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = E2m1At(row.data, i) * E8m0ToF32(row.scales[i / 32]);
}

// w = e4m3(q) * e8m0 of 32
void UnpackMxfp8(const RowParts& row, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = E4m3ToF32(row.data[i]) * E8m0ToF32(row.scales[i / 32]);
}

// w = e2m1(q) * (e4m3 of 16 * factor)
void UnpackNvfp4(const RowParts& row, float factor, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = E2m1At(row.data, i) * (E4m3ToF32(row.scales[i / 16]) * factor);
}

// w = e4m3(q) * scale of the group
void UnpackFp8(const Format& format, const RowParts& row, std::span<float> out) {
  const auto group = static_cast<size_t>(format.group);
  for (size_t begin = 0; begin < out.size(); begin += group) {
    const float scale = NumberAt(format.scale_dtype, row.scales, begin / group);
    for (size_t i = begin; i < begin + group; ++i) out[i] = E4m3ToF32(row.data[i]) * scale;
  }
}

}  // namespace

void UnpackRow(const WeightView& weight, std::int64_t index, std::span<float> out) {
  CHECK_EQ(static_cast<std::int64_t>(out.size()), weight.k);
  const std::optional<RowBytes> bytes = FormatRowBytes(weight.format, weight.k);
  CHECK(bytes.has_value()) << weight.format.Name() << " rows of " << weight.k;
  const RowParts row = {weight.data + index * bytes->data, weight.scales + index * bytes->scales,
                        weight.biases + index * bytes->biases};
  switch (weight.format.kind) {
    case FormatKind::kF32:
      return UnpackFloats(DType::kF32, row.data, out);
    case FormatKind::kF16:
      return UnpackFloats(DType::kF16, row.data, out);
    case FormatKind::kBF16:
      return UnpackFloats(DType::kBF16, row.data, out);
    case FormatKind::kQ4_0:
      return UnpackQ4_0(row.data, out);
    case FormatKind::kQ4_1:
      return UnpackQ4_1(row.data, out);
    case FormatKind::kQ5_0:
      return UnpackQ5_0(row.data, out);
    case FormatKind::kQ5_1:
      return UnpackQ5_1(row.data, out);
    case FormatKind::kQ8_0:
      return UnpackQ8_0(row.data, out);
    case FormatKind::kIQ4_NL:
      return UnpackIQ4_NL(row.data, out);
    case FormatKind::kMxfp4Gguf:
      return UnpackMxfp4Gguf(row.data, out);
    case FormatKind::kQ2_K:
      return UnpackQ2_K(row.data, out);
    case FormatKind::kQ3_K:
      return UnpackQ3_K(row.data, out);
    case FormatKind::kQ4_K:
      return UnpackQ4_K(row.data, out);
    case FormatKind::kQ5_K:
      return UnpackQ5_K(row.data, out);
    case FormatKind::kQ6_K:
      return UnpackQ6_K(row.data, out);
    case FormatKind::kIQ4_XS:
      return UnpackIQ4_XS(row.data, out);
    case FormatKind::kAffine:
      return UnpackAffine(weight.format, row, out);
    case FormatKind::kMxfp4:
      return UnpackMxfp4(row, out);
    case FormatKind::kMxfp8:
      return UnpackMxfp8(row, out);
    case FormatKind::kNvfp4:
      return UnpackNvfp4(row, 1, out);
    case FormatKind::kNvfp4Global:
      return UnpackNvfp4(row, NumberAt(DType::kF32, row.biases, 0), out);
    case FormatKind::kFp8:
      return UnpackFp8(weight.format, row, out);
  }
}

}  // namespace tonnage
