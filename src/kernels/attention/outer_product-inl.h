// The inner loop of attention, once for scores and once for values, compiled for each target.

#if defined(TONNAGE_KERNELS_OUTER_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TONNAGE_KERNELS_OUTER_PRODUCT_INL_H_
#undef TONNAGE_KERNELS_OUTER_PRODUCT_INL_H_
#else
#define TONNAGE_KERNELS_OUTER_PRODUCT_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Stored numbers as f32.
template <class D>
HWY_INLINE hn::Vec<D> LoadF32(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadF32(D d, const T* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), from));
}

// f32 as stored numbers, rounded to nearest even; NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> Rounded(D, hn::Vec<D> value, const float*) {
  return value;
}
template <class D>
HWY_INLINE auto Rounded(D d, hn::Vec<D> value, const hwy::float16_t*) {
  const hn::Rebind<hwy::float16_t, D> d16;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  // Highway's own conversion truncates on these targets.
  HWY_ALIGN float from[hn::MaxLanes(d)];
  HWY_ALIGN hwy::float16_t to[hn::MaxLanes(d)];
  hn::Store(value, d, from);
  for (size_t i = 0; i < hn::Lanes(d); ++i) to[i].bits = F32ToF16(from[i]);
  return hn::Load(d16, to);
#else
  (void)d;
  return hn::DemoteTo(d16, value);
#endif
}
template <class D>
HWY_INLINE auto Rounded(D, hn::Vec<D> value, const hwy::bfloat16_t*) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> du16;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
  const auto result = hn::IfThenElse(is_nan, hn::Set(du, 0x7fc0u), rounded);
  return hn::BitCast(hn::Rebind<hwy::bfloat16_t, D>(), hn::DemoteTo(du16, hn::BitCast(di, result)));
}

// from [count] to every `stride`-th element of `to`.
template <typename T>
HWY_INLINE void StoreAs(const float* from, std::int64_t count, T* to, std::int64_t stride) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto stored = Rounded(d, hn::LoadU(d, from + i), to);
    const hn::DFromV<decltype(stored)> dt;
    if (stride == 1) {
      hn::StoreU(stored, dt, to + i);
      continue;
    }
    HWY_ALIGN T block[hn::MaxLanes(d)];
    hn::StoreU(stored, dt, block);
    for (std::int64_t j = 0; j < lanes; ++j) to[(i + j) * stride] = block[j];
  }
  for (; i < count; ++i) {
    const auto stored = Rounded(d1, hn::LoadU(d1, from + i), to);
    hn::StoreU(stored, hn::DFromV<decltype(stored)>(), to + i * stride);
  }
}

enum class Accumulate { kNo, kYes };

// a [rows, depth] and c [rows, columns] of f32, b [depth, columns] of T.
template <typename T>
struct Product {
  const float* a;
  std::int64_t a_stride;
  const T* b;
  std::int64_t b_stride;
  // Where the next product's b lies, without padding: it is fetched into the cache meanwhile, since
  // no processor foresees the jump from page to page. In rising order of addresses: in the order of
  // the loads, which take columns in turns, two cores of an AVX2 machine read a quarter less.
  const T* next_b;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  float* c;  // without padding
  Accumulate accumulate;
};

// c[m, n] (+)= sum_t a[m, t] * b[t, n] for M rows from `first_row` and N vectors of columns from
// `first_column`, which stay in registers. Each sum runs in rising order of t, whatever M and N
// are.
template <int M, int N, class D, typename T>
HWY_INLINE void OuterBlock(D d, const Product<T>& p, std::int64_t first_row,
                           std::int64_t first_column) {
  const float* HWY_RESTRICT a = p.a + first_row * p.a_stride;
  const T* HWY_RESTRICT b = p.b + first_column;
  const T* next_b = p.next_b + first_column * p.depth;
  float* HWY_RESTRICT c = p.c + first_row * p.columns + first_column;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t kLine = 64 / sizeof(T);
  hn::Vec<D> sums[M][N];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      sums[m][n] = p.accumulate == Accumulate::kYes ? hn::LoadU(d, c + m * p.columns + n * lanes)
                                                    : hn::Zero(d);
    }
  }
  for (std::int64_t t = 0; t < p.depth; ++t) {
    hn::Vec<D> row[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) row[n] = LoadF32(d, b + t * p.b_stride + n * lanes);
    if (first_row == 0) {
      for (std::int64_t i = 0; i < N * lanes; i += kLine) {
        __builtin_prefetch(next_b + t * N * lanes + i, 0, 2);
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const auto factor = hn::Set(d, a[m * p.a_stride + t]);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[m][n] = hn::MulAdd(factor, row[n], sums[m][n]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) hn::StoreU(sums[m][n], d, c + m * p.columns + n * lanes);
  }
}

// Rows of the next block, at most `most`: of the last two blocks neither is so small that its sums
// would wait for each other.
HWY_INLINE std::int64_t BlockRows(std::int64_t left, std::int64_t most) {
  if (left <= most) return left;
  return left < 2 * most ? (left + 1) / 2 : most;
}

template <int N, class D, typename T>
HWY_INLINE void OuterRows(D d, const Product<T>& p, std::int64_t column) {
  for (std::int64_t m = 0; m < p.rows;) {
    const std::int64_t rows = BlockRows(p.rows - m, 6);
    switch (rows) {
      case 6:
        OuterBlock<6, N>(d, p, m, column);
        break;
      case 5:
        OuterBlock<5, N>(d, p, m, column);
        break;
      case 4:
        OuterBlock<4, N>(d, p, m, column);
        break;
      case 3:
        OuterBlock<3, N>(d, p, m, column);
        break;
      case 2:
        OuterBlock<2, N>(d, p, m, column);
        break;
      default:
        OuterBlock<1, N>(d, p, m, column);
    }
    m += rows;
  }
}

// As many vectors of columns at once as leave registers for the sums.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kOuterVectors = 4;
#else
inline constexpr int kOuterVectors = 2;
#endif

template <typename T>
HWY_NOINLINE void OuterProduct(const Product<T>& product) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t n = 0; n < product.columns;) {
    const std::int64_t left = product.columns - n;
    if (left >= kOuterVectors * lanes) {
      OuterRows<kOuterVectors>(d, product, n);
      n += kOuterVectors * lanes;
    } else if (left >= lanes) {
      OuterRows<1>(d, product, n);
      n += lanes;
    } else {
      OuterRows<1>(d1, product, n);
      ++n;
    }
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
