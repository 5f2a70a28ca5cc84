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

// from [count] to every `stride`-th element of `to`, rounded to nearest even.
HWY_INLINE void StoreAs(const float* from, std::int64_t count, float* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}
HWY_INLINE void StoreAs(const float* from, std::int64_t count, hwy::float16_t* to,
                        std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride].bits = F32ToF16(from[i]);
}
HWY_INLINE void StoreAs(const float* from, std::int64_t count, hwy::bfloat16_t* to,
                        std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride].bits = F32ToBf16(from[i]);
}

enum class Accumulate { kNo, kYes };

// c[m, n] (+)= sum_t a[m, t] * b[t, n], each sum in rising order of t, whatever the blocking: M
// rows of a by N vectors of b stay in registers.
template <int M, int N, class D, typename T>
HWY_INLINE void OuterBlock(D d, const float* HWY_RESTRICT a, std::int64_t a_stride,
                           const T* HWY_RESTRICT b, std::int64_t b_stride, std::int64_t depth,
                           float* HWY_RESTRICT c, std::int64_t c_stride, Accumulate accumulate) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[M][N];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      sums[m][n] =
          accumulate == Accumulate::kYes ? hn::LoadU(d, c + m * c_stride + n * lanes) : hn::Zero(d);
    }
  }
  for (std::int64_t t = 0; t < depth; ++t) {
    hn::Vec<D> row[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) row[n] = LoadF32(d, b + t * b_stride + n * lanes);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const auto factor = hn::Set(d, a[m * a_stride + t]);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[m][n] = hn::MulAdd(factor, row[n], sums[m][n]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) hn::StoreU(sums[m][n], d, c + m * c_stride + n * lanes);
  }
}

template <int N, class D, typename T>
HWY_INLINE void OuterRows(D d, const float* a, std::int64_t a_stride, std::int64_t rows, const T* b,
                          std::int64_t b_stride, std::int64_t depth, float* c,
                          std::int64_t c_stride, Accumulate accumulate) {
  constexpr int kRows = 6;
  std::int64_t m = 0;
  for (; m + kRows <= rows; m += kRows) {
    OuterBlock<kRows, N>(d, a + m * a_stride, a_stride, b, b_stride, depth, c + m * c_stride,
                         c_stride, accumulate);
  }
  a += m * a_stride;
  c += m * c_stride;
  switch (rows - m) {
    case 5:
      return OuterBlock<5, N>(d, a, a_stride, b, b_stride, depth, c, c_stride, accumulate);
    case 4:
      return OuterBlock<4, N>(d, a, a_stride, b, b_stride, depth, c, c_stride, accumulate);
    case 3:
      return OuterBlock<3, N>(d, a, a_stride, b, b_stride, depth, c, c_stride, accumulate);
    case 2:
      return OuterBlock<2, N>(d, a, a_stride, b, b_stride, depth, c, c_stride, accumulate);
    case 1:
      return OuterBlock<1, N>(d, a, a_stride, b, b_stride, depth, c, c_stride, accumulate);
    default:
      return;
  }
}

// As many vectors of columns at once as leave registers for the sums.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kOuterVectors = 4;
#else
inline constexpr int kOuterVectors = 2;
#endif

// a [rows, depth], b [depth, columns], c [rows, columns]; c has no padding.
template <typename T>
HWY_NOINLINE void OuterProduct(const float* a, std::int64_t a_stride, std::int64_t rows, const T* b,
                               std::int64_t b_stride, std::int64_t depth, std::int64_t columns,
                               float* c, Accumulate accumulate) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t n = 0; n < columns;) {
    const std::int64_t left = columns - n;
    if (left >= kOuterVectors * lanes) {
      OuterRows<kOuterVectors>(d, a, a_stride, rows, b + n, b_stride, depth, c + n, columns,
                               accumulate);
      n += kOuterVectors * lanes;
    } else if (left >= lanes) {
      OuterRows<1>(d, a, a_stride, rows, b + n, b_stride, depth, c + n, columns, accumulate);
      n += lanes;
    } else {
      OuterRows<1>(d1, a, a_stride, rows, b + n, b_stride, depth, c + n, columns, accumulate);
      ++n;
    }
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
