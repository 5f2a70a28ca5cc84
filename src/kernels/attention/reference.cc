#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"

namespace tonnage::reference {
namespace {

void StoreElement(const KvPages& cache, std::int64_t at, float value) {
  if (cache.dtype == DType::kF32) {
    reinterpret_cast<float*>(cache.pages)[at] = value;
  } else {
    reinterpret_cast<std::uint16_t*>(cache.pages)[at] =
        cache.dtype == DType::kF16 ? F32ToF16(value) : F32ToBf16(value);
  }
}

double LoadElement(const KvPages& cache, std::int64_t at) {
  if (cache.dtype == DType::kF32) return reinterpret_cast<const float*>(cache.pages)[at];
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(cache.pages)[at];
  return cache.dtype == DType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
}

// Where element `i` of a key or a value stands in the layer's cache.
struct Places {
  const AttentionArgs& args;
  std::int64_t Page(std::int64_t slot, std::int64_t position) const {
    return PageOf(args.cache, slot, position) * PageElements(args.shape);
  }
  std::int64_t Key(std::int64_t slot, std::int64_t position, std::int64_t g, std::int64_t i) const {
    return Page(slot, position) + (g * args.shape.k_dim + i) * kAttentionPageTokens +
           position % kAttentionPageTokens;
  }
  std::int64_t Value(std::int64_t slot, std::int64_t position, std::int64_t g,
                     std::int64_t i) const {
    const std::int64_t keys = kAttentionPageTokens * args.shape.kv_heads * args.shape.k_dim;
    return Page(slot, position) + keys +
           (g * kAttentionPageTokens + position % kAttentionPageTokens) * args.shape.v_dim + i;
  }
};

void WriteCache(const AttentionArgs& args, std::int64_t row) {
  const AttentionShape& shape = args.shape;
  const Places places{args};
  for (std::int64_t g = 0; g < shape.kv_heads; ++g) {
    for (std::int64_t i = 0; i < shape.k_dim; ++i) {
      StoreElement(args.cache, places.Key(args.slots[row], args.positions[row], g, i),
                   args.k[(row * shape.kv_heads + g) * shape.k_dim + i]);
    }
    for (std::int64_t i = 0; i < shape.v_dim; ++i) {
      StoreElement(args.cache, places.Value(args.slots[row], args.positions[row], g, i),
                   args.v[(row * shape.kv_heads + g) * shape.v_dim + i]);
    }
  }
}

double Score(const AttentionArgs& args, std::int64_t row, std::int64_t h, std::int64_t position) {
  const AttentionShape& shape = args.shape;
  const std::int64_t g = h / (shape.heads / shape.kv_heads);
  double dot = 0.0;
  for (std::int64_t i = 0; i < shape.k_dim; ++i) {
    dot += static_cast<double>(args.q[(row * shape.heads + h) * shape.k_dim + i]) *
           LoadElement(args.cache, Places{args}.Key(args.slots[row], position, g, i));
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
  float* out = args.out + (row * shape.heads + h) * shape.v_dim;
  std::fill(out, out + shape.v_dim, 0.0f);
  double sum = 0.0;
  for (std::int64_t t = first; t <= last; ++t) {
    const double p = std::exp(Score(args, row, h, t) - largest);
    sum += p;
    for (std::int64_t i = 0; i < shape.v_dim; ++i) {
      const double v = LoadElement(args.cache, Places{args}.Value(args.slots[row], t, g, i));
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
