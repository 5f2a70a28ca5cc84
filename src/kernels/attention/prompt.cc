#include "kernels/attention/prompt.h"

#include "kernels/vector_levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/prompt.cc"
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

static_assert(kRun == kTileRows && kRun == kPanelRows && kRunRows == kTileK);

// Two vectors as bf16, lane by lane beside each other, rounded to nearest.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> PackPairs(D, hn::Vec<D> low, hn::Vec<D> high) {
  const hn::RebindToUnsigned<D> du;
  const auto half = hn::Set(du, 0x8000u);
  const auto low_bits = hn::ShiftRight<16>(hn::Add(hn::BitCast(du, low), half));
  const auto high_bits = hn::Add(hn::BitCast(du, high), half);
#if HWY_TARGET == HWY_SCALAR
  return hn::Or(low_bits, hn::And(high_bits, hn::Set(du, 0xffff0000u)));
#else
  const hn::Repartition<std::uint16_t, D> d16;
  return hn::BitCast(du, hn::OddEven(hn::BitCast(d16, high_bits), hn::BitCast(d16, low_bits)));
#endif
}

// low [16] and high [16] as 16 pairs.
HWY_INLINE void StorePairs(const float* low, const float* high, std::uint16_t* to) {
  const hn::CappedTag<float, kRun> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  for (std::int64_t i = 0; i < kRun; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    hn::StoreU(PackPairs(d, hn::LoadU(d, low + i), hn::LoadU(d, high + i)), du,
               reinterpret_cast<std::uint32_t*>(to + 2 * i));
  }
}

// rows [32][16] as a tile.
HWY_INLINE void StoreTile(const float* rows, std::uint16_t* to) {
  for (std::int64_t i = 0; i < kRun; ++i) {
    StorePairs(rows + i * kRun, rows + (i + kRun) * kRun, to + 2 * kRun * i);
  }
}

// One tile's way over the keys.
class PromptRun {
 public:
  PromptRun(const PromptVariant& variant, const AttentionArgs& args, const AttentionTile& tile,
            const PromptLayout& layout, const PromptScratch& scratch)
      : variant_(variant),
        args_(args),
        shape_(args.shape),
        tile_(tile),
        layout_(layout),
        s_(scratch),
        group_(args.shape.heads / args.shape.kv_heads),
        queries_(tile.rows * group_),
        blocks_(CeilDiv(queries_, kTileRows)),
        first_key_(FirstKey(tile.first_position)),
        last_key_(tile.first_position + tile.rows - 1) {}

  void Run() {
    LoadQueries();
    std::fill_n(s_.largest, blocks_ * kTileRows, -std::numeric_limits<float>::infinity());
    std::fill_n(s_.sums, blocks_ * kTileRows * kRun, 0.0f);
    std::fill_n(s_.acc, blocks_ * layout_.v_columns * kSumElements, 0.0f);
    for (std::int64_t start = first_key_ / kPromptKeys * kPromptKeys; start <= last_key_;
         start += kPromptKeys) {
      WithPages(args_.cache, [&](auto pages) { LayOutKeys(pages, start); });
      const std::int64_t end = std::min(start + kPromptKeys, last_key_ + 1);
      for (std::int64_t block = 0; block < blocks_; block += 2) {
        for (std::int64_t step = start; step < end; step += kPromptStepKeys) {
          if (Sees(block, step)) Step(block, step, step - start);
        }
      }
    }
    Finish();
  }

 private:
  std::int64_t FirstKey(std::int64_t position) const {
    return shape_.window == 0 ? 0 : std::max<std::int64_t>(0, position - shape_.window + 1);
  }
  std::int64_t PositionOf(std::int64_t query) const {
    return tile_.first_position + std::min(query, queries_ - 1) / group_;
  }
  // Whether any query of a pair of blocks sees a key of the step.
  bool Sees(std::int64_t block, std::int64_t step) const {
    return PositionOf((block + 2) * kTileRows - 1) >= step &&
           FirstKey(PositionOf(block * kTileRows)) < step + kPromptStepKeys;
  }

  void LoadQueries() {
    const auto scale = hn::Set(d_, QueryScale(shape_));
    for (std::int64_t i = 0; i < blocks_ * kTileRows; ++i) {
      const float* q = args_.q + ((tile_.first_row + i / group_) * shape_.heads +
                                  tile_.kv_head * group_ + i % group_) *
                                     shape_.k_dim;
      for (std::int64_t step = 0; step < layout_.k_steps; ++step) {
        float part[kTileK] = {};
        const std::int64_t count =
            i < queries_ ? std::min<std::int64_t>(kTileK, shape_.k_dim - step * kTileK) : 0;
        std::copy_n(q + step * kTileK, count, part);
        for (std::int64_t j = 0; j < kTileK; j += kLanes) {
          hn::StoreU(hn::Mul(hn::LoadU(d_, part + j), scale), d_, part + j);
        }
        StorePairs(part, part + kRun,
                   s_.q + (i / kTileRows * layout_.k_steps + step) * kTileElements +
                       i % kTileRows * kTileK);
      }
    }
  }

  // Keys and values from `start` as tiles. Values that no row of the tile sees become zero,
  // whatever lies there: their weights are zero, but the product must be too.
  template <typename Pages>
  void LayOutKeys(Pages, std::int64_t start) {
    for (std::int64_t at = 0; at < kPromptKeys && start + at <= last_key_; at += kPage) {
      const std::int64_t position = start + at;
      const bool is_seen = position + kPage > first_key_;
      const std::uint8_t* page = is_seen ? PageData(args_, tile_.slot, position) : nullptr;
      float rows[kRunRows * kRun];
      for (std::int64_t token = 0; is_seen && token < kPage; token += kRun) {
        for (std::int64_t step = 0; step < layout_.k_steps; ++step) {
          Pages::LoadKeys(shape_, tile_.kv_head, page, step * kTileK, token, rows);
          StoreTile(rows, s_.k + ((at + token) / kRun * layout_.k_steps + step) * kTileElements);
        }
      }
      for (std::int64_t token = 0; token < kPage; token += kTileK) {
        for (std::int64_t column = 0; column < layout_.v_columns; ++column) {
          if (is_seen) Pages::LoadValues(shape_, tile_.kv_head, page, token, column * kRun, rows);
          ClearUnseen(position + token, rows);
          StoreTile(rows, s_.v + (column * (kPromptKeys / kTileK) + (at + token) / kTileK) *
                                     kTileElements);
        }
      }
    }
    ClearValuesAfter(start);
  }

  void ClearUnseen(std::int64_t position, float* rows) const {
    const std::int64_t before = std::clamp<std::int64_t>(first_key_ - position, 0, kRunRows);
    const std::int64_t seen = std::clamp<std::int64_t>(last_key_ + 1 - position, 0, kRunRows);
    std::fill(rows, rows + before * kRun, 0.0f);
    std::fill(rows + seen * kRun, rows + kRunRows * kRun, 0.0f);
  }

  // The rest of the last step's values, of pages that the sequence may not have.
  void ClearValuesAfter(std::int64_t start) {
    const std::int64_t first = RoundUp(last_key_ + 1 - start, kPage);
    const std::int64_t end = std::min(kPromptKeys, RoundUp(first, kPromptStepKeys));
    for (std::int64_t column = 0; first < end && column < layout_.v_columns; ++column) {
      std::uint16_t* const values = s_.v + column * (kPromptKeys / kTileK) * kTileElements;
      std::fill(values + first / kTileK * kTileElements, values + end / kTileK * kTileElements,
                std::uint16_t{0});
    }
  }

  // Some of a step's keys, in chunks of 16; whole tiles of keys, which are two chunks.
  struct Chunks {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // The chunks among which keys [first, last] of a step are, however far beyond it those reach.
  static Chunks ChunksOf(std::int64_t first, std::int64_t last) {
    const auto tile_of = [](std::int64_t key) {
      return std::clamp<std::int64_t>(key, 0, kPromptStepKeys - 1) / kTileK;
    };
    return {2 * tile_of(first), 2 * tile_of(last) + 2};
  }

  // Two blocks of queries, or the last one, and the keys from `step`, which are those from `at`
  // among the ones that are laid out.
  void Step(std::int64_t block, std::int64_t step, std::int64_t at) {
    const int count = static_cast<int>(std::min<std::int64_t>(2, blocks_ - block));
    const Chunks chunks = ChunksOf(FirstKey(PositionOf(block * kTileRows)) - step,
                                   PositionOf((block + count) * kTileRows - 1) - step);
    MultiplyScores(block, count, at, chunks);
    std::int64_t row = block * kTileRows / group_, head = block * kTileRows % group_;
    for (std::int64_t i = 0; i < count * kTileRows; ++i) {
      const std::int64_t position = tile_.first_position + std::min(row, tile_.rows - 1);
      SoftmaxRow(i, block * kTileRows + i, FirstKey(position) - step, position - step, chunks);
      if (++head == group_) {
        head = 0;
        ++row;
      }
    }
    MultiplyValues(block, count, at, chunks);
  }

  void MultiplyScores(std::int64_t block, int count, std::int64_t at, Chunks chunks) {
    TileProduct product = {.columns = 2, .steps = layout_.k_steps};
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; chunk += 2) {
      for (int j = 0; j < 2; ++j) {
        product.b[j] = s_.k + (at / kRun + chunk + j) * layout_.k_steps * kTileElements;
      }
      for (int i = 0; i < count; ++i) {
        product.a = s_.q + (block + i) * layout_.k_steps * kTileElements;
        for (int j = 0; j < 2; ++j) {
          product.to[j] = s_.scores + (i * kChunks + chunk + j) * kSumElements;
        }
        variant_.multiply(product);
      }
    }
  }

  void MultiplyValues(std::int64_t block, int count, std::int64_t at, Chunks chunks) {
    const std::int64_t first = chunks.begin / 2;
    TileProduct product = {.steps = chunks.end / 2 - first};
    for (std::int64_t column = 0; column < layout_.v_columns; column += 2) {
      product.columns = static_cast<int>(std::min<std::int64_t>(2, layout_.v_columns - column));
      for (int j = 0; j < product.columns; ++j) {
        product.b[j] =
            s_.v + ((column + j) * (kPromptKeys / kTileK) + at / kTileK + first) * kTileElements;
      }
      for (int i = 0; i < count; ++i) {
        product.a = s_.p + (i * (kChunks / 2) + first) * kTileElements;
        for (int j = 0; j < product.columns; ++j) {
          product.to[j] = s_.acc + ((block + i) * layout_.v_columns + column + j) * kSumElements;
          product.from[j] = product.to[j];
        }
        variant_.multiply(product);
      }
    }
  }

  // Row i of the scores, of which keys [first, last] of the step are seen: their softmax weights,
  // and zeros for the rest of `all`.
  void SoftmaxRow(std::int64_t i, std::int64_t query, std::int64_t first, std::int64_t last,
                  Chunks all) {
    float* const scores = s_.scores + i / kTileRows * kChunks * kSumElements + i % kTileRows * kRun;
    std::uint16_t* const p =
        s_.p + i / kTileRows * (kChunks / 2) * kTileElements + i % kTileRows * kTileK;
    if (last < 0 || first >= kPromptStepKeys) return ClearWeights(p, all);
    const Chunks seen = ChunksOf(first, last);
    ClearWeights(p, {all.begin, seen.begin});
    ClearWeights(p, {seen.end, all.end});
    if (shape_.soft_cap != 0.0f) CapScores(scores, seen);
    const bool hides_first = first > seen.begin * kRun, hides_last = last < seen.end * kRun - 1;
    if (hides_first) Hide(scores, first, last, seen.begin);
    if (hides_last) Hide(scores, first, last, seen.end - 2);
    Raise(scores, query, seen);
    if (hides_first || hides_last) {
      WeighRow<true>(scores, query, p, seen);
    } else {
      WeighRow<false>(scores, query, p, seen);
    }
  }

  static HWY_INLINE void ClearWeights(std::uint16_t* p, Chunks chunks) {
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; chunk += 2) {
      std::fill_n(p + chunk / 2 * kTileElements, kTileK, std::uint16_t{0});
    }
  }

  // Keys of two chunks but [first, last] score -inf.
  static HWY_INLINE void Hide(float* scores, std::int64_t first, std::int64_t last,
                              std::int64_t chunk) {
    const hn::RebindToSigned<decltype(d_)> di;
    const auto before = hn::Set(di, static_cast<std::int32_t>(std::max<std::int64_t>(first, 0)));
    const auto after =
        hn::Set(di, static_cast<std::int32_t>(std::min<std::int64_t>(last, kPromptStepKeys)));
    const auto hidden = hn::Set(d_, -std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < 2 * kRun; i += kLanes) {
      const auto key = hn::Iota(di, static_cast<std::int32_t>(chunk * kRun + i));
      const auto is_hidden = hn::Or(hn::Lt(key, before), hn::Gt(key, after));
      float* const at = scores + (chunk + i / kRun) * kSumElements + i % kRun;
      hn::StoreU(hn::IfThenElse(hn::RebindMask(d_, is_hidden), hidden, hn::LoadU(d_, at)), d_, at);
    }
  }

  HWY_INLINE void CapScores(float* scores, Chunks chunks) const {
    const auto cap = hn::Set(d_, shape_.soft_cap * kLog2E);
    const auto inverse = hn::Set(d_, 1.0f / shape_.soft_cap);
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
      float* const at = scores + chunk * kSumElements;
      for (std::int64_t i = 0; i < kRun; i += kLanes) {
        const auto score = hn::Mul(hn::LoadU(d_, at + i), inverse);
        hn::StoreU(hn::Mul(cap, Tanh(d_, score)), d_, at + i);
      }
    }
  }

  // What weights are relative to becomes the row's largest score, if that is so much larger that
  // weights would grow beyond 2^kSlack: what was summed is rescaled then, which is best done
  // rarely.
  HWY_INLINE void Raise(const float* scores, std::int64_t query, Chunks chunks) {
    const float before = s_.largest[query];
    auto most = hn::LoadU(d_, scores + chunks.begin * kSumElements);
    for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
      for (std::int64_t i = 0; i < kRun; i += kLanes) {
        most = hn::Max(most, hn::LoadU(d_, scores + chunk * kSumElements + i));
      }
    }
    if (hn::AllFalse(d_, hn::Gt(most, hn::Set(d_, before + kSlack)))) return;
    const float largest = hn::GetLane(hn::MaxOfLanes(d_, most));
    s_.largest[query] = largest;
    const auto rescale = hn::Set(d_, std::exp2(before - largest));
    const auto multiply = [&](float* numbers) {
      for (std::int64_t i = 0; i < kRun; i += kLanes) {
        hn::StoreU(hn::Mul(hn::LoadU(d_, numbers + i), rescale), d_, numbers + i);
      }
    };
    multiply(s_.sums + query * kRun);
    float* acc = s_.acc + query / kTileRows * layout_.v_columns * kSumElements +
                 query % kTileRows * kPanelRows;
    for (std::int64_t column = 0; column < layout_.v_columns; ++column) {
      multiply(acc + column * kSumElements);
    }
  }

  template <bool kHidden>
  HWY_INLINE void WeighRow(const float* scores, std::int64_t query, std::uint16_t* p,
                           Chunks chunks) {
    const auto largest = hn::Set(d_, s_.largest[query]);
    float* const sums = s_.sums + query * kRun;
    for (std::int64_t i = 0; i < kRun; i += kLanes) {
      auto sum = hn::LoadU(d_, sums + i);
      for (std::int64_t chunk = chunks.begin; chunk < chunks.end; chunk += 2) {
        const float* from = scores + chunk * kSumElements + i;
        const auto low = Weight<kHidden>(hn::Sub(hn::LoadU(d_, from), largest));
        const auto high = Weight<kHidden>(hn::Sub(hn::LoadU(d_, from + kSumElements), largest));
        sum = hn::Add(sum, hn::Add(low, high));
        hn::StoreU(PackPairs(d_, low, high), hn::RebindToUnsigned<decltype(d_)>(),
                   reinterpret_cast<std::uint32_t*>(p + chunk / 2 * kTileElements + 2 * i));
      }
      hn::StoreU(sum, d_, sums + i);
    }
  }

  // 2^x for x of at most kSlack to 4.4e-4 of it, finer than bf16 rounds it; where keys may be
  // hidden, 0 for -inf. r is what is left of x beside the whole number next to it.
  template <class V>
  static HWY_INLINE V FractionPower(V r) {
    V y = hn::Set(d_, 4.169874937e-2f);
    y = hn::MulAdd(y, r, hn::Set(d_, 2.420305119e-1f));
    y = hn::MulAdd(y, r, hn::Set(d_, 6.957668310e-1f));
    return hn::MulAdd(y, r, hn::Set(d_, 1.0f));
  }
#if HWY_TARGET == HWY_AVX3
  // Of -inf nothing is left but NaN, which times 2^-inf is 0 to this instruction.
  template <bool, class V>
  static HWY_INLINE V Weight(V x) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const V whole{_mm512_roundscale_ps(x.raw, kNearest)};
    return V{_mm512_scalef_ps(FractionPower(hn::Sub(x, whole)).raw, whole.raw)};
  }
#else
  // At least 2^-126, but where keys may be hidden 0 below that. Adding 1.5 * 2^23 leaves round(x)
  // in the lowest bits.
  template <bool kHidden, class V>
  static HWY_INLINE V Weight(V x) {
    const hn::RebindToSigned<decltype(d_)> di;
    const V lowest = hn::Set(d_, -126.0f);
    const V magic = hn::Set(d_, 12582912.0f);
    const V clamped = hn::Max(x, lowest);
    const V rounded = hn::Add(clamped, magic);
    const V y = FractionPower(hn::Sub(clamped, hn::Sub(rounded, magic)));
    const auto power = hn::Add(hn::BitCast(di, y), hn::ShiftLeft<23>(hn::BitCast(di, rounded)));
    const V result = hn::BitCast(d_, power);
    if constexpr (kHidden) return hn::IfThenZeroElse(hn::Lt(x, lowest), result);
    return result;
  }
#endif

  void Finish() const {
    for (std::int64_t i = 0; i < queries_; ++i) {
      const std::int64_t head = tile_.kv_head * group_ + i % group_;
      auto lanes = hn::Zero(d_);
      for (std::int64_t j = 0; j < kRun; j += kLanes) {
        lanes = hn::Add(lanes, hn::LoadU(d_, s_.sums + i * kRun + j));
      }
      float sum = hn::GetLane(hn::SumOfLanes(d_, lanes));
      if (args_.sinks != nullptr) sum += std::exp2(args_.sinks[head] * kLog2E - s_.largest[i]);
      const float inverse = 1.0f / sum;
      float* out =
          args_.out + ((tile_.first_row + i / group_) * shape_.heads + head) * shape_.v_dim;
      const float* acc =
          s_.acc + i / kTileRows * layout_.v_columns * kSumElements + i % kTileRows * kPanelRows;
      for (std::int64_t j = 0; j < shape_.v_dim; j += kRun, acc += kSumElements) {
        StoreScaled(acc, inverse, std::min<std::int64_t>(kRun, shape_.v_dim - j), out + j);
      }
    }
  }

  // from [16] * scale; the first `count` of them.
  static HWY_INLINE void StoreScaled(const float* from, float scale, std::int64_t count,
                                     float* to) {
    if (count < kRun) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * scale;
      return;
    }
    for (std::int64_t i = 0; i < kRun; i += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d_, from + i), hn::Set(d_, scale)), d_, to + i);
    }
  }

  static constexpr std::int64_t kChunks = kPromptStepKeys / kRun;  // of 16 scores
  static constexpr float kSlack = 8.0f;  // far from where 16 or 32 bits end
  static constexpr hn::CappedTag<float, kRun> d_{};
  static constexpr auto kLanes =
      static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<float, kRun>()));

  const PromptVariant& variant_;
  const AttentionArgs& args_;
  const AttentionShape& shape_;
  const AttentionTile& tile_;
  const PromptLayout& layout_;
  const PromptScratch& s_;
  const std::int64_t group_, queries_, blocks_, first_key_, last_key_;
};

void WritePromptRows(const AttentionArgs& args, std::int64_t begin, std::int64_t end,
                     std::int64_t kv_head) {
  WithPages(args.cache, [&](auto pages) { WriteRows(pages, args, begin, end, kv_head); });
}

void AttendPrompt(const PromptVariant& variant, const AttentionArgs& args,
                  const AttentionTile& tile, const PromptLayout& layout,
                  const PromptScratch& scratch) {
  PromptRun(variant, args, tile, layout, scratch).Run();
}

template <const PromptVariant& kVariant>
void PromptAttention(const AttentionArgs& args, std::span<std::uint8_t> workspace,
                     ThreadPool& pool) {
  static constexpr PromptFunctions kFunctions = {WritePromptRows, AttendPrompt};
  RunTiledPrompt(kVariant, kFunctions, args, workspace, pool);
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tonnage {
namespace {

// The portable row is slower than the kernels for any rows, so that it runs only where it is
// forced.
constexpr PromptAttentionKernel kPromptKernels[] = {
#if HWY_TARGETS & HWY_AVX3
    {"prompt_amx", &CpuFeatures::amx_bf16, TiledPromptWorkspaceBytes,
     N_AVX3::PromptAttention<kPromptAmx>},
    {"prompt_bf16", &CpuFeatures::avx512_bf16, TiledPromptWorkspaceBytes,
     N_AVX3::PromptAttention<kPromptBf16>},
#endif
    {"prompt_portable", nullptr, TiledPromptWorkspaceBytes,
     HWY_STATIC_NAMESPACE::PromptAttention<kPromptPortable>},
};

}  // namespace

std::span<const PromptAttentionKernel> PromptAttentionKernels() { return kPromptKernels; }

bool Runs(const PromptAttentionKernel& kernel, const CpuFeatures& features) {
  return kernel.needs == nullptr || features.*kernel.needs;
}

const PromptAttentionKernel* SelectPromptAttention(Precision precision, const CpuFeatures& features,
                                                   std::string_view forced) {
  if (precision != Precision::kFast) return nullptr;
  for (const PromptAttentionKernel& kernel : kPromptKernels) {
    const bool wanted = forced.empty() ? kernel.needs != nullptr : kernel.name == forced;
    if (wanted && Runs(kernel, features)) return &kernel;
  }
  return nullptr;
}

}  // namespace tonnage
#endif
