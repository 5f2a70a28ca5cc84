#include "kernels/elementwise/elementwise.h"

#include "kernels/vector_levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct AddOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct SiluTimes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    return hn::Mul(Silu(d, gate), up);
  }
};
struct GeluTanhTimes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    return hn::Mul(GeluTanh(d, gate), up);
  }
};

// y[r, i] = op(a[r, i], b[r, i]) on rows [begin, end). Each row has its own tail, so that an
// element's place in a vector follows from its place in the row.
template <class Op>
HWY_INLINE void ForEach(Op op, const float* a, const float* b, float* y, std::int64_t width,
                        std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = begin; row < end; ++row) {
    std::int64_t i = row * width;
    const std::int64_t row_end = i + width;
    for (; i + lanes <= row_end; i += lanes) {
      hn::StoreU(op(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
    }
    for (; i < row_end; ++i) {
      hn::StoreU(op(d1, hn::LoadU(d1, a + i), hn::LoadU(d1, b + i)), d1, y + i);
    }
  }
}

void Add(const AddArgs& args, std::int64_t begin, std::int64_t end) {
  ForEach(AddOf(), args.a, args.b, args.y, args.width, begin, end);
}

void SiluGlu(const GluArgs& args, std::int64_t begin, std::int64_t end) {
  ForEach(SiluTimes(), args.gate, args.up, args.y, args.width, begin, end);
}

void GeluTanhGlu(const GluArgs& args, std::int64_t begin, std::int64_t end) {
  ForEach(GeluTanhTimes(), args.gate, args.up, args.y, args.width, begin, end);
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tonnage {

std::span<const ElementwiseKernel> ElementwiseKernels() {
  static constexpr ElementwiseKernel kTable[] = {
#define ROW(name, level, target) {name, level, target::Add, target::SiluGlu, target::GeluTanhGlu},
      TONNAGE_VECTOR_ROWS(ROW)
#undef ROW
          {"reference", CpuLevel::kPortable, reference::Add, reference::SiluGlu,
           reference::GeluTanhGlu},
  };
  return kTable;
}

}  // namespace tonnage
#endif
