// Functions of vectors, compiled once for each target like the files that include this.

#if defined(TONNAGE_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TONNAGE_KERNELS_VECTOR_MATH_INL_H_
#undef TONNAGE_KERNELS_VECTOR_MATH_INL_H_
#else
#define TONNAGE_KERNELS_VECTOR_MATH_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x to 2 ulp; 0 below -87.3, where a result would be denormal, and e^88 above 88. e^0 is 1.
// n = round(x / ln 2), then a polynomial in r = x - n ln 2 (minimax on [-ln 2 / 2, ln 2 / 2]).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V FastExp(D d, V x) {
  const hn::Rebind<std::int32_t, D> di;
  const V lowest = hn::Set(d, -87.3f);
  const V clamped = hn::Min(hn::Max(x, lowest), hn::Set(d, 88.0f));
  const V n = hn::Round(hn::Mul(clamped, hn::Set(d, 1.44269504f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), clamped);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0f)));
  const auto power =
      hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, std::int32_t{127})));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), hn::Mul(p, hn::BitCast(d, power)));
}

// 2^x to 2 ulp for x of at most 0; 0 below -126. 2^0 is 1.
// n = round(x), then a polynomial in r = x - n (minimax on [-0.5, 0.5], exact at 0).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V FastExp2(D d, V x) {
  const hn::Rebind<std::int32_t, D> di;
  const V lowest = hn::Set(d, -126.0f);
  const V clamped = hn::Max(x, lowest);
  const V n = hn::Round(clamped);
  const V r = hn::Sub(clamped, n);
  V p = hn::Set(d, 1.559467755e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.340664391e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.617692975e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.550310551e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.402265278e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.931472150e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  // p lies in [0.7, 1.5], so that its exponent takes n without overflow.
  const auto power = hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::ConvertTo(di, n)));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), hn::BitCast(d, power));
}

// z / (1 + e^-z).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D d, V z) {
  return hn::Div(z, hn::Add(hn::Set(d, 1.0f), FastExp(d, hn::Neg(z))));
}

// z / 2 * (1 + tanh(u)) = z / (1 + e^-2u), with u = sqrt(2 / pi) * (z + 0.044715 z^3).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanh(D d, V z) {
  const V minus_twice = hn::Set(d, -2.0f * 0.7978845608f);
  const V cubic = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), hn::Mul(z, z)), z, z);
  return hn::Div(z, hn::Add(hn::Set(d, 1.0f), FastExp(d, hn::Mul(minus_twice, cubic))));
}

// tanh(x) to a few ulp: a polynomial near 0, where 1 - 2 / (1 + e^2x) would cancel.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V one = hn::Set(d, 1.0f);
  const V two = hn::Set(d, 2.0f);
  const V far = hn::Sub(one, hn::Div(two, hn::Add(one, FastExp(d, hn::Mul(two, magnitude)))));
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -3.33332819422e-1f));
  const V near = hn::MulAdd(hn::Mul(p, z), x, x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near, hn::CopySign(far, x));
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
