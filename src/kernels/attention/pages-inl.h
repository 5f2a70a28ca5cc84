// What attention does with a page of the cache, for each kind of numbers in it, compiled for each
// target.

#if defined(TONNAGE_KERNELS_PAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TONNAGE_KERNELS_PAGES_INL_H_
#undef TONNAGE_KERNELS_PAGES_INL_H_
#else
#define TONNAGE_KERNELS_PAGES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/driver.h"
#include "kernels/attention/outer_product-inl.h"
#include "kernels/attention/q8_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::int64_t kPage = kAttentionPageTokens;
inline constexpr float kLog2E = 1.44269504f;
inline constexpr float kMaxCode = 32767.0f;  // of a query or a softmax weight over a cache of codes

HWY_INLINE std::uint8_t* PageData(const AttentionArgs& args, std::int64_t slot,
                                  std::int64_t position) {
  return args.cache.pages +
         PageOf(args.cache, slot, position) * AttentionPageBytes(args.shape, args.cache.dtype);
}

// Scores are kept as powers of two: what a query is multiplied by.
HWY_INLINE float QueryScale(const AttentionShape& shape) {
  return shape.soft_cap == 0.0f ? shape.scale * kLog2E : shape.scale;
}

// What a tile's queries do with one page of their kv head.
struct PageWork {
  const AttentionShape& shape;
  const AttentionScratch& scratch;
  const AttentionPartial& partial;
  std::int64_t kv_head;
  const std::uint8_t* page;
  const std::uint8_t* next;  // the page that comes after
  std::int64_t query;  // queries [query, query + count) see keys [first, last], or some of them
  std::int64_t count;
  std::int64_t first;
  std::int64_t last;
};

// Tiles are made of rows of so many numbers, so many rows at a time.
inline constexpr std::int64_t kRun = 16;
inline constexpr std::int64_t kRunRows = 32;

// from [count] as f32, zeros up to kRun.
template <typename T>
HWY_INLINE void LoadRun(const T* from, std::int64_t count, float* to) {
  const hn::CappedTag<float, kRun> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(LoadF32(d, from + i), d, to + i);
  for (; i < count; ++i) hn::StoreU(LoadF32(d1, from + i), d1, to + i);
  std::fill(to + i, to + kRun, 0.0f);
}

// Pages of plain numbers. Rows of keys are those of neighbouring dimensions from `dim`, each over
// neighbouring tokens; rows of values those of neighbouring tokens, over neighbouring columns.
template <typename T>
struct PlainPages {
  static std::int64_t KeysOf(const AttentionShape& shape, std::int64_t kv_head) {
    return kv_head * shape.k_dim * kPage;
  }
  static std::int64_t ValuesOf(const AttentionShape& shape, std::int64_t kv_head) {
    return (shape.kv_heads * shape.k_dim + kv_head * shape.v_dim) * kPage;
  }

  static HWY_INLINE void Write(const AttentionShape& shape, std::int64_t g, std::int64_t token,
                               const float* k, const float* v, std::uint8_t* to) {
    T* page = reinterpret_cast<T*>(to);
    StoreAs(k, shape.k_dim, page + KeysOf(shape, g) + token, kPage);
    StoreAs(v, shape.v_dim, page + ValuesOf(shape, g) + token * shape.v_dim, 1);
  }

  static HWY_INLINE void LoadQueries(const AttentionShape& shape, const float* from,
                                     std::int64_t query, std::int64_t count,
                                     const AttentionScratch& scratch) {
    const float scale = QueryScale(shape);
    float* q = scratch.q + query * shape.k_dim;
    for (std::int64_t i = 0; i < count * shape.k_dim; ++i) q[i] = from[i] * scale;
  }

  static HWY_INLINE void Scores(const PageWork& w) {
    const std::int64_t keys = KeysOf(w.shape, w.kv_head);
    OuterProduct<T>({.a = w.scratch.q + w.query * w.shape.k_dim,
                     .a_stride = w.shape.k_dim,
                     .b = reinterpret_cast<const T*>(w.page) + keys,
                     .b_stride = kPage,
                     .next_b = reinterpret_cast<const T*>(w.next) + keys,
                     .rows = w.count,
                     .depth = w.shape.k_dim,
                     .columns = kPage,
                     .c = w.scratch.scores + w.query * kPage,
                     .accumulate = Accumulate::kNo});
  }

  static HWY_INLINE void AddValues(const PageWork& w) {
    const std::int64_t values = ValuesOf(w.shape, w.kv_head);
    OuterProduct<T>({.a = w.scratch.scores + w.query * kPage + w.first,
                     .a_stride = kPage,
                     .b = reinterpret_cast<const T*>(w.page) + values + w.first * w.shape.v_dim,
                     .b_stride = w.shape.v_dim,
                     .next_b = reinterpret_cast<const T*>(w.next) + values,
                     .rows = w.count,
                     .depth = w.last + 1 - w.first,
                     .columns = w.shape.v_dim,
                     .c = w.partial.acc + w.query * w.shape.v_dim,
                     .accumulate = Accumulate::kYes});
  }

  // [kRunRows][kRun] as f32; zeros beyond the dimensions.
  static HWY_INLINE void LoadKeys(const AttentionShape& shape, std::int64_t kv_head,
                                  const std::uint8_t* page, std::int64_t dim, std::int64_t token,
                                  float* to) {
    const T* keys = reinterpret_cast<const T*>(page) + KeysOf(shape, kv_head);
    for (std::int64_t r = 0; r < kRunRows; ++r, to += kRun) {
      LoadRun(keys + (dim + r) * kPage + token, dim + r < shape.k_dim ? kRun : 0, to);
    }
  }
  static HWY_INLINE void LoadValues(const AttentionShape& shape, std::int64_t kv_head,
                                    const std::uint8_t* page, std::int64_t token,
                                    std::int64_t column, float* to) {
    const T* values = reinterpret_cast<const T*>(page) + ValuesOf(shape, kv_head) + column;
    for (std::int64_t r = 0; r < kRunRows; ++r, to += kRun) {
      LoadRun(values + (token + r) * shape.v_dim, std::min(kRun, shape.v_dim - column), to);
    }
  }
};

// Pairs of codes that stand together, as two vectors.
template <class D>
HWY_INLINE void SplitCodes(D d, const std::int8_t* pairs, hn::Vec<D>& even, hn::Vec<D>& odd) {
  const hn::Rebind<std::int16_t, D> d16;
  const hn::Rebind<std::int32_t, D> d32;
  const auto both = hn::LoadU(d16, reinterpret_cast<const std::int16_t*>(pairs));
  even = hn::ConvertTo(d, hn::PromoteTo(d32, hn::ShiftRight<8>(hn::ShiftLeft<8>(both))));
  odd = hn::ConvertTo(d, hn::PromoteTo(d32, hn::ShiftRight<8>(both)));
}

// Pages of 8-bit numbers.
struct Q8Pages {
  static HWY_INLINE void Write(const AttentionShape& shape, std::int64_t g, std::int64_t token,
                               const float* k, const float* v, std::uint8_t* to) {
    const Q8Block block = Q8BlockOf(shape);
    std::uint8_t* head = to + g * block.bytes;
    auto* codes = reinterpret_cast<std::int8_t*>(head);
    StoreQ8(k, shape.k_dim, codes + 2 * token, 2, 2 * kPage, head + block.key_scales + 2 * token);
    StoreQ8(v, shape.v_dim, codes + block.values + token / 2 * 2 * shape.v_dim + token % 2, 1, 2,
            head + block.value_scales + 2 * token);
  }

  // The most that sums of products with codes of keys leave room for.
  static float MaxQueryCode(const Q8Block& block) {
    constexpr std::int64_t kMaxKeyCode = 127;
    return std::min(kMaxCode, static_cast<float>(std::numeric_limits<std::int32_t>::max() /
                                                 (kMaxKeyCode * 2 * block.key_pairs)));
  }

  static HWY_INLINE void LoadQueries(const AttentionShape& shape, const float* from,
                                     std::int64_t query, std::int64_t count,
                                     const AttentionScratch& scratch) {
    const Q8Block block = Q8BlockOf(shape);
    const float most = MaxQueryCode(block);
    for (std::int64_t i = 0; i < count; ++i) {
      const float* x = from + i * shape.k_dim;
      const float largest = std::max(LargestMagnitude(x, shape.k_dim), 1e-30f);
      std::int16_t* codes = scratch.q_codes + (query + i) * 2 * block.key_pairs;
      codes[2 * block.key_pairs - 1] = 0;  // where an odd dimension has no partner
      StoreCodes(x, shape.k_dim, most / largest, codes);
      scratch.q_factors[query + i] = largest / most * QueryScale(shape);
    }
  }

  static HWY_INLINE void Scores(const PageWork& w) {
    const Q8Block block = Q8BlockOf(w.shape);
    const std::uint8_t* head = w.page + w.kv_head * block.bytes;
    const std::uint8_t* next = w.next + w.kv_head * block.bytes;
    for (std::int64_t at = block.key_scales; at < block.values; at += 64) {
      __builtin_prefetch(next + at, 0, 2);
    }
    Q8OuterProduct(
        {.a = w.scratch.q_codes + w.query * 2 * block.key_pairs,
         .a_stride = block.key_pairs,
         .b = reinterpret_cast<const std::int8_t*>(head),
         .next_b = reinterpret_cast<const std::int8_t*>(next),
         .rows = w.count,
         .depth = block.key_pairs,
         .columns = kPage,
         .c = w.scratch.scores + w.query * kPage,
         .row_factors = w.scratch.q_factors + w.query,
         .column_factors = reinterpret_cast<const hwy::bfloat16_t*>(head + block.key_scales)});
  }

  // Softmax weights times the scales of their values, as codes and a factor of them all. A weight
  // of zero stays one: the scale of a key that is not seen may be anything.
  static HWY_INLINE void RoundWeights(const PageWork& w, std::int64_t query,
                                      const hwy::bfloat16_t* scales) {
    const hn::CappedTag<float, 16> d;
    float* weights = w.scratch.scores + query * kPage;
    auto largest = hn::Zero(d);
    for (std::int64_t i = 0; i < kPage; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      const auto p = hn::LoadU(d, weights + i);
      const auto scaled =
          hn::IfThenElseZero(hn::Gt(p, hn::Zero(d)), hn::Mul(p, LoadF32(d, scales + i)));
      hn::StoreU(scaled, d, weights + i);
      largest = hn::Max(largest, scaled);
    }
    const float most = std::max(hn::GetLane(hn::MaxOfLanes(d, largest)), 1e-30f);
    StoreCodes(weights, kPage, kMaxCode / most, w.scratch.weight_codes + query * kPage);
    w.scratch.weight_factors[query] = most / kMaxCode;
  }

  static HWY_INLINE void AddValues(const PageWork& w) {
    const Q8Block block = Q8BlockOf(w.shape);
    const std::uint8_t* head = w.page + w.kv_head * block.bytes;
    const std::uint8_t* next = w.next + w.kv_head * block.bytes;
    for (std::int64_t i = w.query; i < w.query + w.count; ++i) {
      RoundWeights(w, i, reinterpret_cast<const hwy::bfloat16_t*>(head + block.value_scales));
    }
    Q8OuterProduct({.a = w.scratch.weight_codes + w.query * kPage,
                    .a_stride = kPage / 2,
                    .b = reinterpret_cast<const std::int8_t*>(head + block.values),
                    .next_b = reinterpret_cast<const std::int8_t*>(next + block.values),
                    .rows = w.count,
                    .depth = kPage / 2,
                    .columns = w.shape.v_dim,
                    .c = w.partial.acc + w.query * w.shape.v_dim,
                    .row_factors = w.scratch.weight_factors + w.query});
  }

  static HWY_INLINE void LoadKeys(const AttentionShape& shape, std::int64_t kv_head,
                                  const std::uint8_t* page, std::int64_t dim, std::int64_t token,
                                  float* to) {
    const hn::CappedTag<float, kRun> d;
    const Q8Block block = Q8BlockOf(shape);
    const std::uint8_t* head = page + kv_head * block.bytes;
    const auto* scales = reinterpret_cast<const hwy::bfloat16_t*>(head + block.key_scales) + token;
    for (std::int64_t r = 0; r < kRunRows; r += 2, to += 2 * kRun) {
      if (dim + r >= 2 * block.key_pairs) {
        std::fill_n(to, 2 * kRun, 0.0f);
        continue;
      }
      const auto* codes = reinterpret_cast<const std::int8_t*>(head) + (dim + r) * kPage;
      for (std::int64_t i = 0; i < kRun; i += static_cast<std::int64_t>(hn::Lanes(d))) {
        const auto scale = LoadF32(d, scales + i);
        auto even = scale, odd = scale;
        SplitCodes(d, codes + 2 * (token + i), even, odd);
        hn::StoreU(hn::Mul(even, scale), d, to + i);
        hn::StoreU(hn::Mul(odd, scale), d, to + kRun + i);
      }
    }
  }
  static HWY_INLINE void LoadValues(const AttentionShape& shape, std::int64_t kv_head,
                                    const std::uint8_t* page, std::int64_t token,
                                    std::int64_t column, float* to) {
    const hn::CappedTag<float, kRun> d;
    const hn::CappedTag<float, 1> d1;
    const Q8Block block = Q8BlockOf(shape);
    const std::uint8_t* head = page + kv_head * block.bytes;
    const auto* scales =
        reinterpret_cast<const hwy::bfloat16_t*>(head + block.value_scales) + token;
    const std::int64_t count = std::min(kRun, shape.v_dim - column);
    for (std::int64_t r = 0; r < kRunRows; r += 2, to += 2 * kRun) {
      const auto* codes = reinterpret_cast<const std::int8_t*>(head + block.values) +
                          (token + r) * shape.v_dim + 2 * column;
      const auto load = [&](auto tag, std::int64_t i) {
        const auto first = hn::Set(tag, hn::GetLane(LoadF32(d1, scales + r)));
        const auto second = hn::Set(tag, hn::GetLane(LoadF32(d1, scales + r + 1)));
        auto even = first, odd = first;
        SplitCodes(tag, codes + 2 * i, even, odd);
        hn::StoreU(hn::Mul(even, first), tag, to + i);
        hn::StoreU(hn::Mul(odd, second), tag, to + kRun + i);
      };
      std::int64_t i = 0;
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      for (; i + lanes <= count; i += lanes) load(d, i);
      for (; i < count; ++i) load(d1, i);
      std::fill(to + count, to + kRun, 0.0f);
      std::fill(to + kRun + count, to + 2 * kRun, 0.0f);
    }
  }
};

// Calls f with the kind of pages that the cache has.
template <typename Function>
HWY_INLINE void WithPages(const KvPages& cache, const Function& f) {
  if (cache.dtype == DType::kF32) return f(PlainPages<float>());
  if (cache.dtype == DType::kF16) return f(PlainPages<hwy::float16_t>());
  if (cache.dtype == DType::kBF16) return f(PlainPages<hwy::bfloat16_t>());
  f(Q8Pages());
}

template <typename Pages>
HWY_INLINE void WriteRows(Pages, const AttentionArgs& args, std::int64_t begin, std::int64_t end,
                          std::int64_t g) {
  const AttentionShape& shape = args.shape;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t position = args.positions[row];
    std::uint8_t* page = PageData(args, args.slots[row], position);
    Pages::Write(shape, g, position % kPage, args.k + (row * shape.kv_heads + g) * shape.k_dim,
                 args.v + (row * shape.kv_heads + g) * shape.v_dim, page);
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
