#include "quant/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace tonnage {
namespace {

void StoreU16(std::uint16_t value, std::uint8_t* to) { std::memcpy(to, &value, sizeof value); }

void StoreFloat(DType dtype, float value, std::uint8_t* at, size_t index) {
  switch (dtype) {
    case DType::kF32:
      std::memcpy(at + 4 * index, &value, sizeof value);
      return;
    case DType::kF16:
      return StoreU16(F32ToF16(value), at + 2 * index);
    case DType::kBF16:
      return StoreU16(F32ToBf16(value), at + 2 * index);
    default:
      CHECK(false) << DTypeName(dtype) << " holds no floats";
  }
}

void PackFloats(DType dtype, std::span<const float> row, std::uint8_t* data) {
  for (size_t i = 0; i < row.size(); ++i) StoreFloat(dtype, row[i], data, i);
}

// A code in [0, highest], rounded towards zero; NaN gives 0.
unsigned Code(float value, float highest) {
  if (!(value > 0)) return 0;
  return static_cast<unsigned>(std::min(value, highest));
}

float Inverse(float d) { return d != 0 ? 1 / d : 0; }

// `code(x)` gives the nibble of one element of the block.
template <typename CodeOf>
void StoreNibbles(std::span<const float> block, const CodeOf& code, std::uint8_t* to) {
  for (size_t i = 0; i < 16; ++i)
    to[i] = static_cast<std::uint8_t>(code(block[i]) | code(block[16 + i]) << 4);
}

// d = (the element furthest from 0) / -8; q = x / d + 8, rounded half up
void PackQ4_0(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(32), block += 18) {
    float furthest = 0;
    for (float x : row.first(32)) {
      if (std::fabs(x) > std::fabs(furthest)) furthest = x;
    }
    const float d = furthest / -8, inverse = Inverse(d);
    StoreU16(F32ToF16(d), block);
    StoreNibbles(
        row, [&](float x) { return Code(x * inverse + 8.5f, 15); }, block + 2);
  }
}

// m = min; d = (max - min) / 15; q = (x - m) / d, rounded half up
void PackQ4_1(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(32), block += 20) {
    const auto [min, max] = std::minmax_element(row.begin(), row.begin() + 32);
    const float d = (*max - *min) / 15, inverse = Inverse(d), m = *min;
    StoreU16(F32ToF16(d), block);
    StoreU16(F32ToF16(m), block + 2);
    StoreNibbles(
        row, [&](float x) { return Code((x - m) * inverse + 0.5f, 15); }, block + 4);
  }
}

// d = max |x| / 127; q = x / d, rounded half away from zero
void PackQ8_0(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(32), block += 34) {
    float furthest = 0;
    for (float x : row.first(32)) furthest = std::max(furthest, std::fabs(x));
    const float d = furthest / 127, inverse = Inverse(d);
    StoreU16(F32ToF16(d), block);
    for (size_t i = 0; i < 32; ++i) {
      const float q = std::round(row[i] * inverse);
      block[2 + i] = static_cast<std::uint8_t>(
          std::isnan(q) ? 0 : static_cast<int>(std::clamp(q, -127.f, 127.f)));
    }
  }
}

struct AffineScale {
  float scale;
  float bias;
};

float Round(float value, AffineProfile profile) {
  return profile == AffineProfile::kMlxCpu ? std::nearbyint(value) : std::round(value);
}

// s = max((max - min) / (2^bits - 1), 1e-7), negative if the edge furthest from 0 is the maximum;
// then the scale that maps this edge to a whole number.
AffineScale FindAffineScale(std::span<const float> group, float highest, AffineProfile profile) {
  constexpr float kSmallestScale = 1e-7f;
  float min = std::numeric_limits<float>::infinity();
  float max = profile == AffineProfile::kMlxCpu ? -min : 0.f;
  for (float w : group) {
    min = std::min(min, w);
    max = std::max(max, w);
  }
  float scale = std::max((max - min) / highest, kSmallestScale);
  const bool at_min = std::fabs(min) > std::fabs(max);
  const float edge = at_min ? min : max;
  if (!at_min) scale = -scale;
  const float q0 = Round(edge / scale, profile);
  if (q0 == 0) return {scale, 0};
  return {edge / q0, edge};
}

// q = clamp(round((w - bias) / scale)), with the scale and bias before they are cast for storage.
void PackAffine(const Format& format, std::span<const float> row, std::uint8_t* data,
                std::uint8_t* scales, std::uint8_t* biases, AffineProfile profile) {
  const auto bits = static_cast<size_t>(format.bits), group = static_cast<size_t>(format.group);
  const auto highest = static_cast<float>((1 << bits) - 1);
  std::fill_n(data, row.size() * bits / 8, std::uint8_t{0});
  for (size_t begin = 0; begin < row.size(); begin += group) {
    const AffineScale s = FindAffineScale(row.subspan(begin, group), highest, profile);
    StoreFloat(format.scale_dtype, s.scale, scales, begin / group);
    StoreFloat(format.scale_dtype, s.bias, biases, begin / group);
    for (size_t i = begin; i < begin + group; ++i) {
      const unsigned q = Code(Round((row[i] - s.bias) / s.scale, profile), highest);
      const size_t byte = i * bits / 8, shift = i * bits % 8;
      data[byte] = static_cast<std::uint8_t>(data[byte] | q << shift);
      if (shift + bits > 8) data[byte + 1] = static_cast<std::uint8_t>(q >> (8 - shift));
    }
  }
}

}  // namespace

bool CanPack(FormatKind kind) {
  switch (kind) {
    case FormatKind::kF32:
    case FormatKind::kF16:
    case FormatKind::kBF16:
    case FormatKind::kQ4_0:
    case FormatKind::kQ4_1:
    case FormatKind::kQ8_0:
    case FormatKind::kAffine:
      return true;
    default:
      return false;
  }
}

void PackRow(const Format& format, std::span<const float> row, std::uint8_t* data,
             std::uint8_t* scales, std::uint8_t* biases, AffineProfile profile) {
  CHECK_EQ(row.size() % static_cast<size_t>(format.BlockElements()), size_t{0});
  switch (format.kind) {
    case FormatKind::kF32:
      return PackFloats(DType::kF32, row, data);
    case FormatKind::kF16:
      return PackFloats(DType::kF16, row, data);
    case FormatKind::kBF16:
      return PackFloats(DType::kBF16, row, data);
    case FormatKind::kQ4_0:
      return PackQ4_0(row, data);
    case FormatKind::kQ4_1:
      return PackQ4_1(row, data);
    case FormatKind::kQ8_0:
      return PackQ8_0(row, data);
    case FormatKind::kAffine:
      return PackAffine(format, row, data, scales, biases, profile);
    default:
      CHECK(false) << format.Name() << " is read only";
  }
}

QuantizedWeight Pack(const Format& format, std::int64_t experts, std::int64_t n, std::int64_t k,
                     std::span<const float> values, AffineProfile profile) {
  const std::int64_t rows = experts * n;
  CHECK_EQ(static_cast<std::int64_t>(values.size()), rows * k);
  const std::optional<RowBytes> bytes = FormatRowBytes(format, k);
  CHECK(bytes.has_value()) << format.Name() << " rows of " << k;
  QuantizedWeight weight{
      .format = format, .experts = experts, .n = n, .k = k, .data = {}, .scales = {}, .biases = {}};
  weight.data.resize(static_cast<size_t>(rows * bytes->data));
  weight.scales.resize(static_cast<size_t>(rows * bytes->scales));
  weight.biases.resize(static_cast<size_t>(rows * bytes->biases));
  for (std::int64_t row = 0; row < rows; ++row) {
    PackRow(format, values.subspan(static_cast<size_t>(row * k), static_cast<size_t>(k)),
            weight.data.data() + row * bytes->data, weight.scales.data() + row * bytes->scales,
            weight.biases.data() + row * bytes->biases, profile);
  }
  return weight;
}

}  // namespace tonnage
