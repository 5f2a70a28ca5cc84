#include "kernels/attention/attention.h"

#include "kernels/attention/driver.h"
#include "kernels/vector_levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention.cc"
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/attention/outer_product-inl.h"
#include "kernels/attention/q8_product-inl.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kPage = kAttentionPageTokens;
constexpr float kLog2E = 1.44269504f;
constexpr float kMaxCode = 32767.0f;  // of a query or a softmax weight over a cache of codes

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

// Pages of plain numbers.
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
};

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
HWY_INLINE void WriteRows(Pages, const AttentionArgs& args, std::int64_t begin, std::int64_t end) {
  const AttentionShape& shape = args.shape;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t position = args.positions[row];
    std::uint8_t* page = PageData(args, args.slots[row], position);
    for (std::int64_t g = 0; g < shape.kv_heads; ++g) {
      Pages::Write(shape, g, position % kPage, args.k + (row * shape.kv_heads + g) * shape.k_dim,
                   args.v + (row * shape.kv_heads + g) * shape.v_dim, page);
    }
  }
}

void Write(const AttentionArgs& args, std::int64_t begin, std::int64_t end) {
  WithPages(args.cache, [&](auto pages) { WriteRows(pages, args, begin, end); });
}

void LoadQueries(const AttentionArgs& args, const AttentionTile& tile,
                 const AttentionScratch& scratch) {
  const AttentionShape& shape = args.shape;
  const std::int64_t group = shape.heads / shape.kv_heads;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* from =
        args.q + ((tile.first_row + r) * shape.heads + tile.kv_head * group) * shape.k_dim;
    WithPages(args.cache,
              [&](auto pages) { pages.LoadQueries(shape, from, r * group, group, scratch); });
  }
}

// Which keys of a page one row sees: [first, last].
struct Visible {
  std::int64_t first;
  std::int64_t last;
};
HWY_INLINE Visible VisibleOf(const AttentionShape& shape, std::int64_t position,
                             std::int64_t page_start) {
  const std::int64_t first = shape.window == 0 ? 0 : position - shape.window + 1 - page_start;
  return {std::max<std::int64_t>(0, first), std::min(kPage - 1, position - page_start)};
}

// Scores [page tokens] become 2^(score - largest so far), 0 where the row does not see the key;
// what was summed before is rescaled to the new largest.
HWY_NOINLINE void SoftmaxStep(const AttentionShape& shape, const Visible& visible, float* scores,
                              const AttentionPartial& partial, std::int64_t query) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (shape.soft_cap != 0.0f) {
    const auto cap = hn::Set(d, shape.soft_cap * kLog2E);
    const auto inverse = hn::Set(d, 1.0f / shape.soft_cap);
    for (std::int64_t i = 0; i < kPage; i += lanes) {
      const auto score = hn::Mul(hn::LoadU(d, scores + i), inverse);
      hn::StoreU(hn::Mul(cap, Tanh(d, score)), d, scores + i);
    }
  }
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  std::fill(scores, scores + visible.first, minus_infinity);
  std::fill(scores + visible.last + 1, scores + kPage, minus_infinity);

  auto largest_lanes = hn::LoadU(d, scores);
  for (std::int64_t i = lanes; i < kPage; i += lanes) {
    largest_lanes = hn::Max(largest_lanes, hn::LoadU(d, scores + i));
  }
  const float before = partial.largest[query];
  const float largest = std::max(before, hn::GetLane(hn::MaxOfLanes(d, largest_lanes)));
  auto sums = hn::Zero(d);
  for (std::int64_t i = 0; i < kPage; i += lanes) {
    const auto p = FastExp2(d, hn::Sub(hn::LoadU(d, scores + i), hn::Set(d, largest)));
    hn::StoreU(p, d, scores + i);
    sums = hn::Add(sums, p);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  if (largest == before) {
    partial.sum[query] += sum;
    return;
  }
  const float rescale = std::exp2(before - largest);
  partial.largest[query] = largest;
  partial.sum[query] = partial.sum[query] * rescale + sum;
  float* acc = partial.acc + query * shape.v_dim;
  for (std::int64_t i = 0; i < shape.v_dim; ++i) acc[i] *= rescale;
}

template <typename Pages>
HWY_INLINE void AttendSpan(Pages, const AttentionArgs& args, const AttentionTile& tile,
                           std::int64_t span, const AttentionScratch& scratch,
                           const AttentionPartial& partial) {
  const AttentionShape& shape = args.shape;
  const std::int64_t group = shape.heads / shape.kv_heads;
  const std::int64_t queries = tile.rows * group;
  std::fill(partial.largest, partial.largest + queries, -std::numeric_limits<float>::infinity());
  std::fill(partial.sum, partial.sum + queries, 0.0f);
  std::fill(partial.acc, partial.acc + queries * shape.v_dim, 0.0f);

  const std::int64_t last_position = tile.first_position + tile.rows - 1;
  const std::int64_t first_key =
      shape.window == 0 ? 0 : std::max<std::int64_t>(0, tile.first_position - shape.window + 1);
  const std::int64_t begin = std::max(span * kAttentionSpanTokens, first_key / kPage * kPage);
  const std::int64_t end = std::min((span + 1) * kAttentionSpanTokens, last_position + 1);
  for (std::int64_t page_start = begin; page_start < end; page_start += kPage) {
    // Rows before the page do not see it, nor do those whose window has left it.
    const std::int64_t row_begin = std::max<std::int64_t>(0, page_start - tile.first_position);
    const std::int64_t row_end =
        shape.window == 0
            ? tile.rows
            : std::min(tile.rows, page_start + kPage - 1 + shape.window - tile.first_position);
    if (row_begin >= row_end) continue;
    const std::uint8_t* page = PageData(args, tile.slot, page_start);
    const PageWork work{
        .shape = shape,
        .scratch = scratch,
        .partial = partial,
        .kv_head = tile.kv_head,
        .page = page,
        .next = page_start + kPage < end ? PageData(args, tile.slot, page_start + kPage) : page,
        .query = row_begin * group,
        .count = (row_end - row_begin) * group,
        .first = VisibleOf(shape, tile.first_position + row_begin, page_start).first,
        .last = VisibleOf(shape, tile.first_position + row_end - 1, page_start).last};
    Pages::Scores(work);
    for (std::int64_t i = work.query; i < work.query + work.count; ++i) {
      SoftmaxStep(shape, VisibleOf(shape, tile.first_position + i / group, page_start),
                  scratch.scores + i * kPage, partial, i);
    }
    Pages::AddValues(work);
  }
}

void Attend(const AttentionArgs& args, const AttentionTile& tile, std::int64_t span,
            const AttentionScratch& scratch, const AttentionPartial& partial) {
  WithPages(args.cache, [&](auto pages) { AttendSpan(pages, args, tile, span, scratch, partial); });
}

void Merge(const AttentionShape& shape, std::int64_t queries, const AttentionPartial& partial,
           const AttentionPartial& total) {
  for (std::int64_t i = 0; i < queries; ++i) {
    if (partial.sum[i] == 0.0f) continue;  // the row sees no key of the span
    const float largest = std::max(total.largest[i], partial.largest[i]);
    const float before = std::exp2(total.largest[i] - largest);
    const float now = std::exp2(partial.largest[i] - largest);
    total.largest[i] = largest;
    total.sum[i] = total.sum[i] * before + partial.sum[i] * now;
    float* acc = total.acc + i * shape.v_dim;
    const float* added = partial.acc + i * shape.v_dim;
    for (std::int64_t j = 0; j < shape.v_dim; ++j) acc[j] = acc[j] * before + added[j] * now;
  }
}

void Finish(const AttentionArgs& args, const AttentionTile& tile, const AttentionPartial& total) {
  const AttentionShape& shape = args.shape;
  const std::int64_t group = shape.heads / shape.kv_heads;
  for (std::int64_t i = 0; i < tile.rows * group; ++i) {
    const std::int64_t row = tile.first_row + i / group;
    float* out = args.out + (row * shape.heads + tile.kv_head * group + i % group) * shape.v_dim;
    float sum = total.sum[i];
    if (args.sinks != nullptr) {
      const float sink = args.sinks[tile.kv_head * group + i % group];
      sum += std::exp2(sink * kLog2E - total.largest[i]);
    }
    const float inverse = 1.0f / sum;
    for (std::int64_t j = 0; j < shape.v_dim; ++j)
      out[j] = total.acc[i * shape.v_dim + j] * inverse;
  }
}

void Attention(const AttentionArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool) {
  static constexpr AttentionFunctions kFunctions = {Write, LoadQueries, Attend, Merge, Finish};
  RunTiledAttention(kFunctions, args, workspace, pool);
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tonnage {

std::span<const AttentionKernel> AttentionKernels() {
  static constexpr AttentionKernel kTable[] = {
#define ROW(name, level, target) {name, level, TiledAttentionWorkspaceBytes, target::Attention},
      TONNAGE_VECTOR_ROWS(ROW)
#undef ROW
          {"reference", CpuLevel::kPortable, reference::AttentionWorkspaceBytes,
           reference::Attention},
  };
  return kTable;
}

}  // namespace tonnage
#endif
