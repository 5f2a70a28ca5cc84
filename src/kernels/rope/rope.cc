#include "kernels/rope/rope.h"

#include "kernels/vector_levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope/rope.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void CopyRest(const RopeArgs& args, const float* x, float* y) {
  if (x == y) return;
  for (std::int64_t i = 2 * args.pairs; i < args.head_dim; ++i) y[i] = x[i];
}

void RopeHalfSplit(const RopeArgs& args, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t head = begin * args.heads; head < end * args.heads; ++head) {
    const float* cosines = args.table + head / args.heads * 2 * args.pairs;
    const float* sines = cosines + args.pairs;
    const float* x = args.x + head * args.head_dim;
    float* y = args.y + head * args.head_dim;
    std::int64_t i = 0;
    for (; i + lanes <= args.pairs; i += lanes) {
      const auto a = hn::LoadU(d, x + i);
      const auto b = hn::LoadU(d, x + i + args.pairs);
      const auto c = hn::LoadU(d, cosines + i);
      const auto s = hn::LoadU(d, sines + i);
      hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), d, y + i);
      hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, y + i + args.pairs);
    }
    for (; i < args.pairs; ++i) {
      const float a = x[i];
      const float b = x[i + args.pairs];
      y[i] = a * cosines[i] - b * sines[i];
      y[i + args.pairs] = b * cosines[i] + a * sines[i];
    }
    CopyRest(args, x, y);
  }
}

void RopeInterleaved(const RopeArgs& args, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t head = begin * args.heads; head < end * args.heads; ++head) {
    const float* cosines = args.table + head / args.heads * 2 * args.pairs;
    const float* sines = cosines + args.pairs;
    const float* x = args.x + head * args.head_dim;
    float* y = args.y + head * args.head_dim;
    std::int64_t i = 0;
    for (; i + lanes <= args.pairs; i += lanes) {
      hn::Vec<decltype(d)> a, b;
      hn::LoadInterleaved2(d, x + 2 * i, a, b);
      const auto c = hn::LoadU(d, cosines + i);
      const auto s = hn::LoadU(d, sines + i);
      hn::StoreInterleaved2(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)),
                            hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, y + 2 * i);
    }
    for (; i < args.pairs; ++i) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      y[2 * i] = a * cosines[i] - b * sines[i];
      y[2 * i + 1] = b * cosines[i] + a * sines[i];
    }
    CopyRest(args, x, y);
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tonnage {

std::span<const RopeKernel> RopeKernels() {
  static constexpr RopeKernel kTable[] = {
#define ROW(name, level, target) {name, level, target::RopeHalfSplit, target::RopeInterleaved},
      TONNAGE_VECTOR_ROWS(ROW)
#undef ROW
          {"reference", CpuLevel::kPortable, reference::RopeHalfSplit, reference::RopeInterleaved},
  };
  return kTable;
}

}  // namespace tonnage
#endif
