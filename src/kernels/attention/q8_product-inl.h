// The inner loops of attention over a cache of 8-bit integers (q8.h), compiled for each target.
// Queries and softmax weights are rounded to 16 bits and multiplied as integers, whose sums are
// exact: twice as many multiply-adds an instruction as floats, for which such a cache would wait.

#if defined(TONNAGE_KERNELS_Q8_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TONNAGE_KERNELS_Q8_PRODUCT_INL_H_
#undef TONNAGE_KERNELS_Q8_PRODUCT_INL_H_
#else
#define TONNAGE_KERNELS_Q8_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/attention/outer_product-inl.h"
#include "kernels/attention/q8.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float LargestMagnitude(const float* from, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    largest = hn::Max(largest, hn::Abs(hn::LoadU(d, from + i)));
  float result = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i) result = std::max(result, std::abs(from[i]));
  return result;
}

// round(from * inverse), of which no magnitude is beyond T's. from may be `to`'s own memory only if
// T is narrower.
template <typename T>
HWY_INLINE void StoreCodes(const float* from, std::int64_t count, float inverse, T* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const hn::Rebind<T, decltype(d)> dt;
    const auto code = hn::NearestInt(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, inverse)));
    hn::StoreU(hn::DemoteTo(dt, code), dt, to + i);
  }
  for (; i < count; ++i) {
    const hn::Rebind<T, decltype(d1)> dt;
    const auto code = hn::NearestInt(hn::Mul(hn::LoadU(d1, from + i), hn::Set(d1, inverse)));
    hn::StoreU(hn::DemoteTo(dt, code), dt, to + i);
  }
}

// Codes of x [count] to `to`, in pairs whose second element stands beside the first and which are
// `stride` bytes apart; its scale to `scale`.
HWY_INLINE void StoreQ8(const float* x, std::int64_t count, std::int8_t* to, std::int64_t pair,
                        std::int64_t stride, std::uint8_t* scale) {
  constexpr std::int64_t kChunk = 256;
  const float rounded = Q8Scale(LargestMagnitude(x, count));
  const std::uint16_t bits = F32ToBf16(rounded);
  std::memcpy(scale, &bits, sizeof bits);
  std::int8_t codes[kChunk];
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t end = std::min(count, begin + kChunk);
    StoreCodes(x + begin, end - begin, 1.0f / rounded, codes);
    for (std::int64_t i = begin; i < end; ++i) {
      to[i / pair * stride + i % pair] = codes[i - begin];
    }
  }
}

// a [rows, depth] pairs of 16-bit codes, b [depth, columns] pairs of 8-bit ones; c [rows, columns]
// of f32 gets the sums of pairs, times a factor of its row and one of its column.
struct Q8Product {
  const std::int16_t* a;
  std::int64_t a_stride;  // in pairs
  const std::int8_t* b;
  const std::int8_t* next_b;  // see Product
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  float* c;                                         // without padding
  const float* row_factors;                         // [rows]
  const hwy::bfloat16_t* column_factors = nullptr;  // [columns]; null: 1, and c is added to
};

// Pairs of codes, one for each lane of 32-bit sums.
#if HWY_TARGET == HWY_SCALAR
struct CodePair {
  std::int32_t even, odd;
};
template <class D>
HWY_INLINE CodePair LoadPairs(D, const std::int8_t* from) {
  return {from[0], from[1]};
}
template <class D>
HWY_INLINE CodePair SetPairs(D, const std::int16_t* pair) {
  return {pair[0], pair[1]};
}
template <class D>
HWY_INLINE hn::Vec<D> AddProducts(D d, CodePair a, CodePair b, hn::Vec<D> sums) {
  return hn::Add(sums, hn::Set(d, a.even * b.even + a.odd * b.odd));
}
#else
template <class D>
HWY_INLINE auto LoadPairs(D, const std::int8_t* from) {
  const hn::Repartition<std::int16_t, D> d16;
  return hn::PromoteTo(d16, hn::LoadU(hn::Rebind<std::int8_t, decltype(d16)>(), from));
}
template <class D>
HWY_INLINE auto SetPairs(D d, const std::int16_t* pair) {
  std::int32_t bits;
  std::memcpy(&bits, pair, sizeof bits);
  return hn::BitCast(hn::Repartition<std::int16_t, D>(), hn::Set(d, bits));
}
template <class D, class V16>
HWY_INLINE hn::Vec<D> AddProducts(D d, V16 a, V16 b, hn::Vec<D> sums) {
  auto odd = hn::Zero(d);
  const auto even = hn::ReorderWidenMulAccumulate(d, a, b, sums, odd);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  return even;  // which holds both
#else
  return hn::Add(even, odd);
#endif
}
#endif

// Sums of `count` columns of a row, to c. Apart from the loop that makes them, in which GCC would
// copy every sum for the sake of what comes after.
template <class D>
HWY_NOINLINE void FinishQ8Row(D d, const Q8Product& p, const std::int32_t* sums, std::int64_t row,
                              std::int64_t column, std::int64_t count) {
  const hn::Rebind<float, D> df;
  const auto factor = hn::Set(df, p.row_factors[row]);
  float* const c = p.c + row * p.columns + column;
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto sum = hn::ConvertTo(df, hn::LoadU(d, sums + i));
    if (p.column_factors == nullptr) {
      hn::StoreU(hn::MulAdd(sum, factor, hn::LoadU(df, c + i)), df, c + i);
    } else {
      const auto column_factor = LoadF32(df, p.column_factors + column + i);
      hn::StoreU(hn::Mul(hn::Mul(sum, factor), column_factor), df, c + i);
    }
  }
}

template <int M, int N, class D>
HWY_INLINE void Q8OuterBlock(D d, const Q8Product& p, std::int64_t first_row,
                             std::int64_t first_column) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int16_t* HWY_RESTRICT a = p.a + 2 * first_row * p.a_stride;
  const std::int8_t* HWY_RESTRICT b = p.b + 2 * first_column;
  // Later rows fetch what is there already: a branch in the loop costs more.
  const std::int8_t* next_b = (first_row == 0 ? p.next_b : p.b) + 2 * first_column * p.depth;
  hn::Vec<D> sums[M][N];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) sums[m][n] = hn::Zero(d);
  }
  for (std::int64_t t = 0; t < p.depth; ++t) {
    decltype(LoadPairs(d, b)) row[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) row[n] = LoadPairs(d, b + 2 * (t * p.columns + n * lanes));
    __builtin_prefetch(next_b + 2 * t * N * lanes, 0, 2);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const auto factor = SetPairs(d, a + 2 * (m * p.a_stride + t));
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[m][n] = AddProducts(d, factor, row[n], sums[m][n]);
    }
  }
  HWY_ALIGN std::int32_t stored[M * N * hn::MaxLanes(d)];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) hn::StoreU(sums[m][n], d, stored + (m * N + n) * lanes);
  }
  for (int m = 0; m < M; ++m) {
    FinishQ8Row(d, p, stored + m * N * lanes, first_row + m, first_column, N * lanes);
  }
}

template <int N, class D>
HWY_INLINE void Q8OuterRows(D d, const Q8Product& p, std::int64_t column) {
  // A sum, a product and the codes of more rows would not fit in 16 registers.
  constexpr std::int64_t kMost = 4;
  for (std::int64_t m = 0; m < p.rows;) {
    const std::int64_t rows = BlockRows(p.rows - m, kMost);
    switch (rows) {
      case 4:
        Q8OuterBlock<4, N>(d, p, m, column);
        break;
      case 3:
        Q8OuterBlock<3, N>(d, p, m, column);
        break;
      case 2:
        Q8OuterBlock<2, N>(d, p, m, column);
        break;
      default:
        Q8OuterBlock<1, N>(d, p, m, column);
    }
    m += rows;
  }
}

inline HWY_NOINLINE void Q8OuterProduct(const Q8Product& product) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::CappedTag<std::int32_t, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t n = 0; n < product.columns;) {
    const std::int64_t left = product.columns - n;
    if (left >= kOuterVectors * lanes) {
      Q8OuterRows<kOuterVectors>(d, product, n);
      n += kOuterVectors * lanes;
    } else if (left >= lanes) {
      Q8OuterRows<1>(d, product, n);
      n += lanes;
    } else {
      Q8OuterRows<1>(d1, product, n);
      ++n;
    }
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
