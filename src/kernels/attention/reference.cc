#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/attention/attention.h"

namespace tonnage::reference {
namespace {

// A key or value head of one token: where its elements stand in a page, and its scale if it has
// one.
struct HeadPlace {
  std::uint8_t* page;
  std::int64_t first;   // in elements
  std::int64_t stride;  // of neighbouring runs of `run` elements
  std::int64_t run = 1;
  std::uint8_t* scale = nullptr;

  std::int64_t At(std::int64_t i) const { return first + i / run * stride + i % run; }
};

std::uint8_t* PageData(const AttentionArgs& args, std::int64_t slot, std::int64_t position) {
  return args.cache.pages +
         PageOf(args.cache, slot, position) * AttentionPageBytes(args.shape, args.cache.dtype);
}

HeadPlace KeyPlace(const AttentionArgs& args, std::int64_t slot, std::int64_t position,
                   std::int64_t g) {
  std::uint8_t* page = PageData(args, slot, position);
  const std::int64_t token = position % kAttentionPageTokens;
  if (args.cache.dtype != DType::kU8) {
    return {page, g * args.shape.k_dim * kAttentionPageTokens + token, kAttentionPageTokens};
  }
  const Q8Block block = Q8BlockOf(args.shape);
  page += g * block.bytes;
  return {page, 2 * token, 2 * kAttentionPageTokens, 2, page + block.key_scales + 2 * token};
}

HeadPlace ValuePlace(const AttentionArgs& args, std::int64_t slot, std::int64_t position,
                     std::int64_t g) {
  const AttentionShape& shape = args.shape;
  std::uint8_t* page = PageData(args, slot, position);
  const std::int64_t token = position % kAttentionPageTokens;
  if (args.cache.dtype != DType::kU8) {
    const std::int64_t keys = kAttentionPageTokens * shape.kv_heads * shape.k_dim;
    return {page, keys + (g * kAttentionPageTokens + token) * shape.v_dim, 1};
  }
  const Q8Block block = Q8BlockOf(shape);
  page += g * block.bytes;
  return {page, block.values + token / 2 * 2 * shape.v_dim + token % 2, 2, 1,
          page + block.value_scales + 2 * token};
}

void StoreHead(DType dtype, const HeadPlace& place, const float* x, std::int64_t count) {
  float inverse = 0.0f;
  if (place.scale != nullptr) {
    float largest = 0.0f;
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(x[i]));
    const float scale = Q8Scale(largest);
    const std::uint16_t bits = F32ToBf16(scale);
    std::memcpy(place.scale, &bits, sizeof bits);
    inverse = 1.0f / scale;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = place.At(i);
    if (dtype == DType::kU8) {
      const float code = std::nearbyint(x[i] * inverse);
      reinterpret_cast<std::int8_t*>(place.page)[at] =
          static_cast<std::int8_t>(std::isnan(code) ? 0.0f : code);
    } else if (dtype == DType::kF32) {
      reinterpret_cast<float*>(place.page)[at] = x[i];
    } else {
      reinterpret_cast<std::uint16_t*>(place.page)[at] =
          dtype == DType::kF16 ? F32ToF16(x[i]) : F32ToBf16(x[i]);
    }
  }
}

double LoadElement(DType dtype, const HeadPlace& place, std::int64_t i) {
  const std::int64_t at = place.At(i);
  if (dtype == DType::kF32) return reinterpret_cast<const float*>(place.page)[at];
  if (dtype == DType::kU8) {
    std::uint16_t scale;
    std::memcpy(&scale, place.scale, sizeof scale);
    return static_cast<double>(Bf16ToF32(scale)) *
           reinterpret_cast<const std::int8_t*>(place.page)[at];
  }
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(place.page)[at];
  return dtype == DType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
}

void WriteCache(const AttentionArgs& args, std::int64_t row) {
  const AttentionShape& shape = args.shape;
  for (std::int64_t g = 0; g < shape.kv_heads; ++g) {
    StoreHead(args.cache.dtype, KeyPlace(args, args.slots[row], args.positions[row], g),
              args.k + (row * shape.kv_heads + g) * shape.k_dim, shape.k_dim);
    StoreHead(args.cache.dtype, ValuePlace(args, args.slots[row], args.positions[row], g),
              args.v + (row * shape.kv_heads + g) * shape.v_dim, shape.v_dim);
  }
}

double Score(const AttentionArgs& args, std::int64_t row, std::int64_t h, std::int64_t position) {
  const AttentionShape& shape = args.shape;
  const std::int64_t g = h / (shape.heads / shape.kv_heads);
  const HeadPlace key = KeyPlace(args, args.slots[row], position, g);
  double dot = 0.0;
  for (std::int64_t i = 0; i < shape.k_dim; ++i) {
    dot += static_cast<double>(args.q[(row * shape.heads + h) * shape.k_dim + i]) *
           LoadElement(args.cache.dtype, key, i);
  }
  const double score = dot * static_cast<double>(shape.scale);
  const double cap = static_cast<double>(shape.soft_cap);
  return cap == 0.0 ? score : cap * std::tanh(score / cap);
}

// Two passes over the scores, which are cheap to compute again: no memory is needed.
void AttendHead(const AttentionArgs& args, std::int64_t row, std::int64_t h) {
  const AttentionShape& shape = args.shape;
  const std::int64_t g = h / (shape.heads / shape.kv_heads);
  const std::int64_t last = args.positions[row];
  const std::int64_t first =
      shape.window == 0 ? 0 : std::max<std::int64_t>(0, last - shape.window + 1);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t t = first; t <= last; ++t) largest = std::max(largest, Score(args, row, h, t));
  if (args.sinks != nullptr) largest = std::max(largest, static_cast<double>(args.sinks[h]));
  float* out = args.out + (row * shape.heads + h) * shape.v_dim;
  std::fill(out, out + shape.v_dim, 0.0f);
  double sum = args.sinks == nullptr ? 0.0 : std::exp(static_cast<double>(args.sinks[h]) - largest);
  for (std::int64_t t = first; t <= last; ++t) {
    const double p = std::exp(Score(args, row, h, t) - largest);
    sum += p;
    const HeadPlace value = ValuePlace(args, args.slots[row], t, g);
    for (std::int64_t i = 0; i < shape.v_dim; ++i) {
      const double v = LoadElement(args.cache.dtype, value, i);
      out[i] = static_cast<float>(static_cast<double>(out[i]) + p * v);
    }
  }
  for (std::int64_t i = 0; i < shape.v_dim; ++i) {
    out[i] = static_cast<float>(static_cast<double>(out[i]) / sum);
  }
}

}  // namespace

Bytes AttentionWorkspaceBytes(const AttentionShape&, const AttentionLimits&) { return 0; }

void Attention(const AttentionArgs& args, std::span<std::uint8_t>, ThreadPool& pool) {
  for (std::int64_t row = 0; row < args.rows; ++row) WriteCache(args, row);
  pool.Run(args.rows * args.shape.heads,
           [&](std::int64_t i) { AttendHead(args, i / args.shape.heads, i % args.shape.heads); });
}

}  // namespace tonnage::reference
