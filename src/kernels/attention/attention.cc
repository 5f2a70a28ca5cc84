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
#include "kernels/attention/pages-inl.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void Write(const AttentionArgs& args, std::int64_t begin, std::int64_t end, std::int64_t kv_head) {
  WithPages(args.cache, [&](auto pages) { WriteRows(pages, args, begin, end, kv_head); });
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
