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
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kPage = kAttentionPageTokens;

// Elements of the cache in the type that they are stored in.
template <typename T>
HWY_INLINE T* PageData(const AttentionArgs& args, std::int64_t slot, std::int64_t position) {
  return reinterpret_cast<T*>(args.cache.pages) +
         PageOf(args.cache, slot, position) * PageElements(args.shape);
}
HWY_INLINE std::int64_t KeysOf(const AttentionShape& shape, std::int64_t kv_head) {
  return kv_head * shape.k_dim * kPage;
}
HWY_INLINE std::int64_t ValuesOf(const AttentionShape& shape, std::int64_t kv_head) {
  return (shape.kv_heads * shape.k_dim + kv_head * shape.v_dim) * kPage;
}

template <typename T>
HWY_INLINE void WriteRows(const AttentionArgs& args, std::int64_t begin, std::int64_t end) {
  const AttentionShape& shape = args.shape;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t position = args.positions[row];
    T* page = PageData<T>(args, args.slots[row], position);
    for (std::int64_t g = 0; g < shape.kv_heads; ++g) {
      const float* k = args.k + (row * shape.kv_heads + g) * shape.k_dim;
      const float* v = args.v + (row * shape.kv_heads + g) * shape.v_dim;
      StoreAs(k, shape.k_dim, page + KeysOf(shape, g) + position % kPage, kPage);
      StoreAs(v, shape.v_dim, page + ValuesOf(shape, g) + position % kPage * shape.v_dim, 1);
    }
  }
}

void Write(const AttentionArgs& args, std::int64_t begin, std::int64_t end) {
  if (args.cache.dtype == DType::kF32) return WriteRows<float>(args, begin, end);
  if (args.cache.dtype == DType::kF16) return WriteRows<hwy::float16_t>(args, begin, end);
  WriteRows<hwy::bfloat16_t>(args, begin, end);
}

void LoadQueries(const AttentionArgs& args, const AttentionTile& tile, float* q) {
  const AttentionShape& shape = args.shape;
  const std::int64_t width = shape.heads / shape.kv_heads * shape.k_dim;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* from =
        args.q + (tile.first_row + r) * shape.heads * shape.k_dim + tile.kv_head * width;
    for (std::int64_t i = 0; i < width; ++i) q[r * width + i] = from[i] * shape.scale;
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

// Scores [page tokens] become exp(score - largest so far), 0 where the row does not see the key;
// what was summed before is rescaled to the new largest.
HWY_NOINLINE void SoftmaxStep(const AttentionShape& shape, const Visible& visible, float* scores,
                              const AttentionPartial& partial, std::int64_t query) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (shape.soft_cap != 0.0f) {
    const auto cap = hn::Set(d, shape.soft_cap);
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
    const auto p = FastExp(d, hn::Sub(hn::LoadU(d, scores + i), hn::Set(d, largest)));
    hn::StoreU(p, d, scores + i);
    sums = hn::Add(sums, p);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  if (largest == before) {
    partial.sum[query] += sum;
    return;
  }
  const float rescale = std::exp(before - largest);
  partial.largest[query] = largest;
  partial.sum[query] = partial.sum[query] * rescale + sum;
  float* acc = partial.acc + query * shape.v_dim;
  for (std::int64_t i = 0; i < shape.v_dim; ++i) acc[i] *= rescale;
}

template <typename T>
HWY_INLINE void AttendSpan(const AttentionArgs& args, const AttentionTile& tile, std::int64_t span,
                           const AttentionScratch& scratch, const AttentionPartial& partial) {
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
    const std::int64_t count = (row_end - row_begin) * group;
    if (count <= 0) continue;
    const std::int64_t query = row_begin * group;
    const std::int64_t keys = KeysOf(shape, tile.kv_head);
    const std::int64_t values = ValuesOf(shape, tile.kv_head);
    const T* page = PageData<T>(args, tile.slot, page_start);
    const T* next =
        page_start + kPage < end ? PageData<T>(args, tile.slot, page_start + kPage) : page;
    OuterProduct<T>({.a = scratch.q + query * shape.k_dim,
                     .a_stride = shape.k_dim,
                     .b = page + keys,
                     .b_stride = kPage,
                     .next_b = next + keys,
                     .rows = count,
                     .depth = shape.k_dim,
                     .columns = kPage,
                     .c = scratch.scores + query * kPage,
                     .accumulate = Accumulate::kNo});
    for (std::int64_t i = query; i < query + count; ++i) {
      SoftmaxStep(shape, VisibleOf(shape, tile.first_position + i / group, page_start),
                  scratch.scores + i * kPage, partial, i);
    }
    const std::int64_t first = VisibleOf(shape, tile.first_position + row_begin, page_start).first;
    const std::int64_t last = VisibleOf(shape, tile.first_position + row_end - 1, page_start).last;
    OuterProduct<T>({.a = scratch.scores + query * kPage + first,
                     .a_stride = kPage,
                     .b = page + values + first * shape.v_dim,
                     .b_stride = shape.v_dim,
                     .next_b = next + values,
                     .rows = count,
                     .depth = last + 1 - first,
                     .columns = shape.v_dim,
                     .c = partial.acc + query * shape.v_dim,
                     .accumulate = Accumulate::kYes});
  }
}

void Attend(const AttentionArgs& args, const AttentionTile& tile, std::int64_t span,
            const AttentionScratch& scratch, const AttentionPartial& partial) {
  if (args.cache.dtype == DType::kF32) return AttendSpan<float>(args, tile, span, scratch, partial);
  if (args.cache.dtype == DType::kF16) {
    return AttendSpan<hwy::float16_t>(args, tile, span, scratch, partial);
  }
  AttendSpan<hwy::bfloat16_t>(args, tile, span, scratch, partial);
}

void Merge(const AttentionShape& shape, std::int64_t queries, const AttentionPartial& partial,
           const AttentionPartial& total) {
  for (std::int64_t i = 0; i < queries; ++i) {
    if (partial.sum[i] == 0.0f) continue;  // the row sees no key of the span
    const float largest = std::max(total.largest[i], partial.largest[i]);
    const float before = std::exp(total.largest[i] - largest);
    const float now = std::exp(partial.largest[i] - largest);
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
    const float inverse = 1.0f / total.sum[i];
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
