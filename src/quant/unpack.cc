#include "quant/unpack.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace tonnage {
namespace {

static_assert(std::endian::native == std::endian::little, "stored numbers are little-endian");

std::uint16_t LoadU16(const std::uint8_t* from) {
  std::uint16_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float LoadFloat(DType dtype, const std::uint8_t* at, size_t index) {
  switch (dtype) {
    case DType::kF32: {
      float value;
      std::memcpy(&value, at + 4 * index, sizeof value);
      return value;
    }
    case DType::kF16:
      return F16ToF32(LoadU16(at + 2 * index));
    case DType::kBF16:
      return Bf16ToF32(LoadU16(at + 2 * index));
    default:
      CHECK(false) << DTypeName(dtype) << " holds no floats";
      return 0;
  }
}

void UnpackFloats(DType dtype, const std::uint8_t* row, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = LoadFloat(dtype, row, i);
}

// Element i of the first 16 is the low nibble of byte i; element 16 + i is its high nibble.
int Nibble(const std::uint8_t* bytes, size_t i) {
  return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4;
}

// w = d * (q - 8)
void UnpackQ4_0(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 18) {
    const float d = F16ToF32(LoadU16(block));
    for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(Nibble(block + 2, i) - 8);
  }
}

// w = d * q + m
void UnpackQ4_1(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 20) {
    const float d = F16ToF32(LoadU16(block));
    const float m = F16ToF32(LoadU16(block + 2));
    for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(Nibble(block + 4, i)) + m;
  }
}

// w = d * q
void UnpackQ8_0(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(32), block += 34) {
    const float d = F16ToF32(LoadU16(block));
    for (size_t i = 0; i < 32; ++i)
      out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  }
}

// w = (d * scale of its 16) * (q - 32). Each half of 128 elements is four quarters of 32: the low
// nibbles of its 64 bytes are quarters 0 and 1, the high ones 2 and 3, and bits 2j of its 32 bytes
// of pairs top up quarter j.
void UnpackQ6_K(const std::uint8_t* block, std::span<float> out) {
  for (; !out.empty(); out = out.subspan(256), block += 210) {
    const float d = F16ToF32(LoadU16(block + 208));
    for (size_t i = 0; i < 256; ++i) {
      const size_t half = i / 128, quarter = i / 32 % 4, l = i % 32;
      const int low = block[64 * half + 32 * (quarter % 2) + l] >> (quarter < 2 ? 0 : 4) & 15;
      const int high = block[128 + 32 * half + l] >> (2 * quarter) & 3;
      const auto scale = static_cast<std::int8_t>(block[192 + i / 16]);
      out[i] = d * static_cast<float>(scale) * static_cast<float>((low | high << 4) - 32);
    }
  }
}

// w = q * scale + bias. Element i of a row is at bits [i * bits, (i + 1) * bits), least significant
// first.
void UnpackAffine(const Format& format, const std::uint8_t* row, const std::uint8_t* scales,
                  const std::uint8_t* biases, std::span<float> out) {
  const auto bits = static_cast<size_t>(format.bits);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t byte = i * bits / 8, shift = i * bits % 8;
    unsigned word = row[byte];
    if (shift + bits > 8) word |= static_cast<unsigned>(row[byte + 1]) << 8;
    const unsigned q = word >> shift & ((1u << bits) - 1);
    const size_t group = i / static_cast<size_t>(format.group);
    const float scale = LoadFloat(format.scale_dtype, scales, group);
    out[i] = static_cast<float>(q) * scale + LoadFloat(format.scale_dtype, biases, group);
  }
}

}  // namespace

void UnpackRow(const WeightView& weight, std::int64_t row, std::span<float> out) {
  CHECK_EQ(static_cast<std::int64_t>(out.size()), weight.k);
  const std::optional<RowBytes> bytes = FormatRowBytes(weight.format, weight.k);
  CHECK(bytes.has_value()) << weight.format.Name() << " rows of " << weight.k;
  const std::uint8_t* data = weight.data + row * bytes->data;
  switch (weight.format.kind) {
    case FormatKind::kF32:
      return UnpackFloats(DType::kF32, data, out);
    case FormatKind::kF16:
      return UnpackFloats(DType::kF16, data, out);
    case FormatKind::kBF16:
      return UnpackFloats(DType::kBF16, data, out);
    case FormatKind::kQ4_0:
      return UnpackQ4_0(data, out);
    case FormatKind::kQ4_1:
      return UnpackQ4_1(data, out);
    case FormatKind::kQ8_0:
      return UnpackQ8_0(data, out);
    case FormatKind::kQ6_K:
      return UnpackQ6_K(data, out);
    case FormatKind::kAffine:
      return UnpackAffine(weight.format, data, weight.scales + row * bytes->scales,
                          weight.biases + row * bytes->biases, out);
  }
}

}  // namespace tonnage
