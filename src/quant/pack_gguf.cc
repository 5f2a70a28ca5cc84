#include "quant/pack_gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/vector.h"
#include "quant/rounding.h"
#include "tensor/dtype.h"

namespace tonnage::internal {
namespace {

constexpr std::size_t kSuper = 256;

void StoreF16(float value, std::uint8_t* to) {
  const std::uint16_t bits = F32ToF16(value);
  std::memcpy(to, &bits, sizeof bits);
}

// What a reader will make of `value`.
float AsF16(float value) { return F16ToF32(F32ToF16(value)); }

float Inverse(float d) { return d != 0 ? 1 / d : 0; }

// Truncated towards 0, in [0, highest]; NaN gives 0.
unsigned Code(float value, float highest) {
  return static_cast<unsigned>(static_cast<std::int32_t>(Clamp(value, 0, highest)));
}

// `code(x)` gives the nibble of one element of the block of 32.
template <typename CodeOf>
void StoreNibbles(std::span<const float> block, const CodeOf& code, std::uint8_t* to) {
  for (std::size_t i = 0; i < 16; ++i)
    to[i] = static_cast<std::uint8_t>(code(block[i]) | code(block[16 + i]) << 4);
}

// The element furthest from 0, the first of them.
float Furthest(std::span<const float> block) {
  float furthest = 0;
  for (float x : block) furthest = std::fabs(x) > std::fabs(furthest) ? x : furthest;
  return furthest;
}

Float4 ClampAndRound(Float4 steps, float low, float high) {
  steps = steps > low ? steps : Splat4(low);  // NaN too
  steps = steps < high ? steps : Splat4(high);
  constexpr float kRounder = 0x1.8p23f;  // as in RoundEven
  return (steps + kRounder) - kRounder;
}

// --- q4_k: w = scale * q - min, min >= 0 ---

struct ScaleAndMin {
  float scale = 0;
  float min = 0;
};

// 32 elements and what weighs their errors: large elements count for more.
struct Weighted {
  Float4 x[8];
  Float4 weight[8];
  float low = 0;   // at most 0
  float high = 0;  // the largest element
  float sum_w = 0, sum_wx = 0;
};

Weighted Weigh(const float* x) {
  Weighted w;
  Float4 squares = {}, weights = {}, products = {};
  for (std::size_t i = 0; i < 8; ++i) {
    w.x[i] = LoadVector<Float4>(x + 4 * i);
    squares += w.x[i] * w.x[i];
  }
  const float typical = std::sqrt(SumLanes(squares) / 32);
  for (std::size_t i = 0; i < 8; ++i) {
    w.weight[i] = typical + (w.x[i] < 0 ? -w.x[i] : w.x[i]);
    weights += w.weight[i];
    products += w.weight[i] * w.x[i];
  }
  w.sum_w = SumLanes(weights);
  w.sum_wx = SumLanes(products);
  w.high = x[0];
  for (std::size_t i = 0; i < 32; ++i) {
    w.low = x[i] < w.low ? x[i] : w.low;
    w.high = x[i] > w.high ? x[i] : w.high;
  }
  return w;
}

// A scale and minimum, and by how much they bring the weighted squared error below that of zeros.
struct Fitted {
  ScaleAndMin s;
  float gain = 0;
};

// The best for the codes that `steps` a unit give.
Fitted Fit(const Weighted& w, float steps) {
  Float4 l = {}, ll = {}, lx = {};
  for (std::size_t i = 0; i < 8; ++i) {
    const Float4 code = ClampAndRound(steps * (w.x[i] - w.low), 0, 15);
    const Float4 weighted = w.weight[i] * code;
    l += weighted;
    ll += weighted * code;
    lx += weighted * w.x[i];
  }
  const float sum_l = SumLanes(l), sum_ll = SumLanes(ll), sum_lx = SumLanes(lx);
  const float determinant = w.sum_w * sum_ll - sum_l * sum_l;
  if (!(determinant > 0)) return {};
  const float offset = (sum_ll * w.sum_wx - sum_l * sum_lx) / determinant;
  if (offset > 0) return {{sum_lx / sum_ll, 0}, sum_lx * sum_lx / sum_ll};
  const float scale = (w.sum_w * sum_lx - w.sum_wx * sum_l) / determinant;
  return {{scale, -offset}, scale * sum_lx + offset * w.sum_wx};
}

// Tries cutting the range into 14, 14.1, ... 16 steps.
ScaleAndMin SearchScaleAndMin(const float* x) {
  const Weighted w = Weigh(x);
  const float range = w.high - w.low;
  if (!(range > 0)) return {0, -w.low};
  Fitted best = {{range / 15, -w.low}, 0};
  for (int i = 0; i <= 20; ++i) {
    const Fitted fitted = Fit(w, (14 + 0.1f * static_cast<float>(i)) / range);
    if (fitted.gain > best.gain && fitted.s.scale > 0) best = fitted;
  }
  return best.s;
}

// 8 scales and 8 minima of 6 bits into 12 bytes, as block_scales.h reads them.
void StoreScales(const std::uint8_t* scales, const std::uint8_t* mins, std::uint8_t* to) {
  for (std::size_t i = 0; i < 4; ++i) {
    to[i] = static_cast<std::uint8_t>(scales[i] | scales[i + 4] >> 4 << 6);
    to[i + 4] = static_cast<std::uint8_t>(mins[i] | mins[i + 4] >> 4 << 6);
    to[i + 8] = static_cast<std::uint8_t>((scales[i + 4] & 15) | (mins[i + 4] & 15) << 4);
  }
}

void PackQ4_KBlock(const float* x, std::uint8_t* block) {
  ScaleAndMin found[8];
  float largest_scale = 0, largest_min = 0;
  for (std::size_t j = 0; j < 8; ++j) {
    found[j] = SearchScaleAndMin(x + 32 * j);
    largest_scale = std::max(largest_scale, found[j].scale);
    largest_min = std::max(largest_min, found[j].min);
  }
  const float d = AsF16(largest_scale / 63), dmin = AsF16(largest_min / 63);
  StoreF16(d, block);
  StoreF16(dmin, block + 2);
  const float per_scale = largest_scale > 0 ? 63 / largest_scale : 0;
  const float per_min = largest_min > 0 ? 63 / largest_min : 0;
  std::uint8_t scales[8], mins[8], codes[kSuper];
  for (std::size_t j = 0; j < 8; ++j) {
    const float scale = RoundEven(Clamp(per_scale * found[j].scale, 0, 63));
    const float min = RoundEven(Clamp(per_min * found[j].min, 0, 63));
    scales[j] = static_cast<std::uint8_t>(scale);
    mins[j] = static_cast<std::uint8_t>(min);
    const float step = d * scale, offset = dmin * min;
    for (std::size_t i = 32 * j; i < 32 * j + 32; ++i) {
      const float code = RoundEven(Clamp((x[i] + offset) / step, 0, 15));
      codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(step > 0 ? code : 0));
    }
  }
  StoreScales(scales, mins, block + 4);
  for (std::size_t i = 0; i < kSuper / 2; ++i) {
    const std::size_t low = i / 32 * 64 + i % 32;
    block[16 + i] = static_cast<std::uint8_t>(codes[low] | codes[low + 32] << 4);
  }
}

// --- q6_k: w = scale * q, q in [-32, 31] ---

struct Correlation {
  float with_x;
  float with_itself;
};

// Of the codes that `steps` a unit give, weighed by x^2.
Correlation Correlate(const Float4 x[4], float steps) {
  Float4 lx = {}, ll = {};
  for (std::size_t i = 0; i < 4; ++i) {
    const Float4 code = ClampAndRound(steps * x[i], -32, 31);
    const Float4 weighted = x[i] * x[i] * code;
    lx += weighted * x[i];
    ll += weighted * code;
  }
  return {SumLanes(lx), SumLanes(ll)};
}

// The scale of 16 elements: the best fit to the codes of 31.1, 31.2, ... 32.9 steps from 0 to the
// element furthest from it, which gets a negative code if it can.
float SearchScale(const float* x) {
  constexpr float kNothing = 1e-15f;
  const float furthest = Furthest({x, 16});
  if (!(std::fabs(furthest) >= kNothing)) return 0;
  Float4 fours[4];
  for (std::size_t i = 0; i < 4; ++i) fours[i] = LoadVector<Float4>(x + 4 * i);
  float best = 0, scale = 0;
  for (int i = -9; i <= 9; ++i) {
    const Correlation c = Correlate(fours, -(32 + 0.1f * static_cast<float>(i)) / furthest);
    if (!(c.with_itself > 0) || !(c.with_x * c.with_x > best * c.with_itself)) continue;
    scale = c.with_x / c.with_itself;
    best = scale * c.with_x;
  }
  return scale;
}

void PackQ6_KBlock(const float* x, std::uint8_t* block) {
  float scales[16];
  for (std::size_t j = 0; j < 16; ++j) scales[j] = SearchScale(x + 16 * j);
  const float furthest = Furthest(scales);
  std::memset(block, 0, 210);
  const float d = AsF16(furthest / -128), per_scale = furthest != 0 ? -128 / furthest : 0;
  StoreF16(d, block + 208);
  std::uint8_t codes[kSuper];
  for (std::size_t j = 0; j < 16; ++j) {
    const float scale = RoundEven(Clamp(per_scale * scales[j], -128, 127));
    block[192 + j] = static_cast<std::uint8_t>(static_cast<std::int32_t>(scale));
    const float step = d * scale;
    for (std::size_t i = 16 * j; i < 16 * j + 16; ++i) {
      const float code = RoundEven(Clamp(x[i] / step, -32, 31));
      codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(step != 0 ? code : 0) + 32);
    }
  }
  for (std::size_t i = 0; i < kSuper; ++i) {
    std::uint8_t& low = block[64 * (i / 128) + i % 64];
    low = static_cast<std::uint8_t>(low | (codes[i] & 15) << (4 * (i / 64 % 2)));
    std::uint8_t& high = block[128 + 32 * (i / 128) + i % 32];
    high = static_cast<std::uint8_t>(high | codes[i] >> 4 << (2 * (i / 32 % 4)));
  }
}

}  // namespace

// d = (the element furthest from 0) / -8; q = x / d + 8, rounded half up
void PackQ4_0(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(32), block += 18) {
    const float d = Furthest(row.first(32)) / -8, inverse = Inverse(d);
    StoreF16(d, block);
    StoreNibbles(
        row, [&](float x) { return Code(x * inverse + 8.5f, 15); }, block + 2);
  }
}

// m = min; d = (max - min) / 15; q = (x - m) / d, rounded half up
void PackQ4_1(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(32), block += 20) {
    const auto [min, max] = std::minmax_element(row.begin(), row.begin() + 32);
    const float d = (*max - *min) / 15, inverse = Inverse(d), m = *min;
    StoreF16(d, block);
    StoreF16(m, block + 2);
    StoreNibbles(
        row, [&](float x) { return Code((x - m) * inverse + 0.5f, 15); }, block + 4);
  }
}

// d = max |x| / 127; q = x / d, rounded half away from zero
void PackQ8_0(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(32), block += 34) {
    const float d = std::fabs(Furthest(row.first(32))) / 127, inverse = Inverse(d);
    StoreF16(d, block);
    for (std::size_t i = 0; i < 32; ++i) {
      const float q = Clamp(row[i] * inverse, -127, 127);
      block[2 + i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(RoundAway(q)));
    }
  }
}

void PackQ4_K(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(kSuper), block += 144) PackQ4_KBlock(row.data(), block);
}

void PackQ6_K(std::span<const float> row, std::uint8_t* block) {
  for (; !row.empty(); row = row.subspan(kSuper), block += 210) PackQ6_KBlock(row.data(), block);
}

}  // namespace tonnage::internal
