#include "quant/pack_mlx.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "quant/minifloat.h"
#include "quant/rounding.h"
#include "tensor/numbers.h"

namespace tonnage::internal {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kLargestGroup = 128;
// From how many times the largest code on FirstE2m1Code is needed.
constexpr float kFarAbove = 2;
// Minima and maxima are kept in this many lanes, which become a vector.
constexpr std::size_t kLanes = 8;

// Closes the gaps between 8 codes, a byte each: pairs, then fours, then all.
template <int kBits>
std::uint64_t Squeeze(std::uint64_t codes) {
  constexpr std::uint64_t kBytes = 0x00ff00ff00ff00ff, kWords = 0x0000ffff0000ffff;
  codes = (codes & kBytes) | (codes & ~kBytes) >> (8 - kBits);
  codes = (codes & kWords) | (codes & ~kWords) >> (16 - 2 * kBits);
  return (codes & 0xffffffff) | codes >> 32 << (4 * kBits);
}

template <int kBits>
void PackBitsOf(const std::uint8_t* codes, std::size_t count, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; i += 8, out += kBits) {
    std::uint64_t eight;
    std::memcpy(&eight, codes + i, 8);
    eight = Squeeze<kBits>(eight);
    std::memcpy(out, &eight, kBits);
  }
}

struct Range {
  float min;
  float max;
};

// NaN is passed over.
Range RangeOf(std::span<const float> group, float least_max) {
  float min[kLanes], max[kLanes];
  std::fill_n(min, kLanes, kInfinity);
  std::fill_n(max, kLanes, least_max);
  for (std::size_t i = 0; i < group.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float w = group[i + lane];
      min[lane] = w < min[lane] ? w : min[lane];
      max[lane] = w > max[lane] ? w : max[lane];
    }
  }
  return {*std::min_element(min, min + kLanes), *std::max_element(max, max + kLanes)};
}

struct AffineScale {
  float scale;
  float bias;
};

AffineScale FindAffineScale(Range range, float highest, bool gpu) {
  constexpr float kSmallestScale = 1e-7f;
  float scale = std::max((range.max - range.min) / highest, kSmallestScale);
  const bool at_min = std::fabs(range.min) > std::fabs(range.max);
  const float edge = at_min ? range.min : range.max;
  if (!at_min) scale = -scale;
  const float q0 = gpu ? std::round(edge / scale) : std::nearbyint(edge / scale);
  if (q0 == 0) return {scale, 0};
  return {edge / q0, edge};
}

template <bool kGpu>
void FindAffineCodes(std::span<const float> group, AffineScale s, float highest,
                     std::uint8_t* codes) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    const float steps = Clamp((group[i] - s.bias) / s.scale, 0, highest);
    codes[i] = static_cast<std::uint8_t>(
        static_cast<std::int32_t>(kGpu ? RoundAway(steps) : RoundEven(steps)));
  }
}

float LargestMagnitude(std::span<const float> group) {
  float largest[kLanes] = {};
  for (std::size_t i = 0; i < group.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float w = std::fabs(group[i + lane]);
      largest[lane] = w > largest[lane] ? w : largest[lane];
    }
  }
  return *std::max_element(largest, largest + kLanes);
}

// The least whole n with 2^n >= value, which is finite and above 0.
int CeilLog2(float value) {
  int exponent;
  return std::frexp(value, &exponent) == 0.5f ? exponent - 1 : exponent;
}

// The scale of a group, as stored and as what its elements are divided by.
struct FloatScale {
  std::uint8_t code;
  float value;
};

FloatScale PowerOfTwo(float s, bool gpu) {
  if (!(s < kInfinity)) return {254, 0x1p127f};
  if (gpu) {
    const int n = s == 0 ? -127 : std::clamp(CeilLog2(s), -127, 127);
    return {static_cast<std::uint8_t>(n + 127), std::ldexp(1.f, n)};
  }
  const int n = s == 0 ? 0 : CeilLog2(s);
  return {static_cast<std::uint8_t>(n + 127), std::ldexp(1.f, n)};
}

FloatScale AsE4m3(float s) {
  const std::uint8_t code = F32ToE4m3(s);
  return {code, E4m3ToF32(code)};
}

// The codes nearest to values [count], count at most 32. On the CPU a value of the middle goes to
// the smaller code, and what is small to +0.
template <bool kGpu>
void E2m1Codes(const float* values, std::size_t count, std::uint8_t* codes) {
  std::int32_t wide[32];
  for (std::size_t i = 0; i < count; ++i) {
    const float a = std::fabs(values[i]);
    const std::int32_t sign = std::bit_cast<std::int32_t>(values[i]) < 0 ? 8 : 0;
    const std::int32_t above = (a > 0.25f) + (a > 1.25f) + (a > 2.5f) + (a > 5.f);
    if constexpr (kGpu) {
      const std::int32_t code = above + (a >= 0.75f) + (a >= 1.75f) + (a >= 3.5f);
      wide[i] = a == a ? code | sign : 7;
    } else {
      const std::int32_t code = above + (a > 0.75f) + (a > 1.75f) + (a > 3.5f);
      wide[i] = a > 0.25f ? code | sign : 0;
    }
  }
  for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint8_t>(wide[i]);
}

// MLX's CPU takes the first code of least distance, which is not the nearest one any more where the
// distances to all are the same float32 number.
std::uint8_t FirstE2m1Code(float value) {
  std::uint8_t best = 0;
  float least = kInfinity;
  for (std::uint8_t code = 0; code < 16; ++code) {
    const float distance = std::fabs(value - 0.5f * static_cast<float>(kTwiceE2m1[code]));
    if (distance < least) {
      least = distance;
      best = code;
    }
  }
  return best;
}

template <bool kGpu, DType kSource>
float ScaleDown(float w, float scale, float inverse) {
  return kGpu ? w * inverse : RoundTo<kSource>(w / scale);
}

template <bool kGpu, DType kSource>
void PackFloatRow(FormatKind kind, std::span<const float> row, std::uint8_t* data,
                  std::uint8_t* scales) {
  constexpr DType kScale = kGpu ? DType::kF32 : kSource;
  const std::size_t group = kind == FormatKind::kNvfp4 ? 16 : 32;
  const bool wide = kind == FormatKind::kMxfp8;
  for (; !row.empty(); row = row.subspan(group)) {
    const float s = RoundTo<kScale>(LargestMagnitude(row.first(group)) / (wide ? 448 : 6));
    const FloatScale scale = kind == FormatKind::kNvfp4 ? AsE4m3(s) : PowerOfTwo(s, kGpu);
    *scales++ = scale.code;
    const float inverse = scale.value == 0 ? 0 : 1 / scale.value;
    if (wide) {
      for (std::size_t i = 0; i < group; ++i)
        data[i] = F32ToE4m3(ScaleDown<kGpu, kSource>(row[i], scale.value, inverse));
      data += group;
      continue;
    }
    float values[32];
    for (std::size_t i = 0; i < group; ++i)
      values[i] = ScaleDown<kGpu, kSource>(row[i], scale.value, inverse);
    std::uint8_t codes[32];
    E2m1Codes<kGpu>(values, group, codes);
    if (!kGpu && !(s < kFarAbove * scale.value)) {
      for (std::size_t i = 0; i < group; ++i) codes[i] = FirstE2m1Code(values[i]);
    }
    PackBitsOf<4>(codes, group, data);
    data += group / 2;
  }
}

}  // namespace

void PackBits(const std::uint8_t* codes, std::size_t count, int bits, std::uint8_t* out) {
  switch (bits) {
    case 2:
      return PackBitsOf<2>(codes, count, out);
    case 3:
      return PackBitsOf<3>(codes, count, out);
    case 4:
      return PackBitsOf<4>(codes, count, out);
    case 5:
      return PackBitsOf<5>(codes, count, out);
    case 6:
      return PackBitsOf<6>(codes, count, out);
    case 8:
      return PackBitsOf<8>(codes, count, out);
    default:
      CHECK(false) << "no codes of " << bits << " bits";
  }
}

void PackAffine(const Format& format, PackProfile profile, std::span<const float> row,
                std::uint8_t* data, std::uint8_t* scales, std::uint8_t* biases) {
  const auto group = static_cast<std::size_t>(format.group);
  const auto size = static_cast<std::size_t>(DTypeBytes(format.scale_dtype));
  CHECK_LE(group, kLargestGroup);
  const bool gpu = profile == PackProfile::kMlxGpu;
  const auto highest = static_cast<float>((1 << format.bits) - 1);
  for (std::size_t index = 0; !row.empty(); ++index, row = row.subspan(group)) {
    const std::span<const float> w = row.first(group);
    const AffineScale s = FindAffineScale(RangeOf(w, gpu ? 0 : -kInfinity), highest, gpu);
    StoreNumber(format.scale_dtype, s.scale, scales + index * size);
    StoreNumber(format.scale_dtype, s.bias, biases + index * size);
    std::uint8_t codes[kLargestGroup];
    if (gpu) {
      FindAffineCodes<true>(w, s, highest, codes);
    } else {
      FindAffineCodes<false>(w, s, highest, codes);
    }
    PackBits(codes, group, format.bits, data);
    data += group / 8 * static_cast<std::size_t>(format.bits);
  }
}

void PackMlxFloat(FormatKind kind, const PackOptions& options, std::span<const float> row,
                  std::uint8_t* data, std::uint8_t* scales) {
  if (options.profile == PackProfile::kMlxGpu)
    return PackFloatRow<true, DType::kF32>(kind, row, data, scales);
  if (options.source == DType::kF16)
    return PackFloatRow<false, DType::kF16>(kind, row, data, scales);
  if (options.source == DType::kBF16)
    return PackFloatRow<false, DType::kBF16>(kind, row, data, scales);
  PackFloatRow<false, DType::kF32>(kind, row, data, scales);
}

}  // namespace tonnage::internal
