#include "kernels/norm/norm.h"

#include "kernels/vector_levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm.cc"
#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four accumulators hide the latency of the additions.
HWY_INLINE float SumOfSquares(const float* x, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto x0 = hn::LoadU(d, x + i);
    const auto x1 = hn::LoadU(d, x + i + lanes);
    const auto x2 = hn::LoadU(d, x + i + 2 * lanes);
    const auto x3 = hn::LoadU(d, x + i + 3 * lanes);
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
    sum2 = hn::MulAdd(x2, x2, sum2);
    sum3 = hn::MulAdd(x3, x3, sum3);
  }
  for (; i + lanes <= count; i += lanes) {
    const auto x0 = hn::LoadU(d, x + i);
    sum0 = hn::MulAdd(x0, x0, sum0);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

void RmsNorm(const RmsNormArgs& args, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto offset = hn::Set(d, args.weight_offset);
  for (std::int64_t start = begin * args.width; start < end * args.width; start += args.group) {
    const float* x = args.x + start;
    float* y = args.y + start;
    const float mean = SumOfSquares(x, args.group) / static_cast<float>(args.group);
    const float scale = 1.0f / std::sqrt(mean + args.eps);
    const auto scales = hn::Set(d, scale);
    std::int64_t i = 0;
    for (; i + lanes <= args.group; i += lanes) {
      const auto weight = hn::Add(hn::LoadU(d, args.weight + i), offset);
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), scales), weight), d, y + i);
    }
    for (; i < args.group; ++i) y[i] = x[i] * scale * (args.weight[i] + args.weight_offset);
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tonnage {

std::span<const NormKernel> NormKernels() {
  static constexpr NormKernel kTable[] = {
#define ROW(name, level, target) {name, level, target::RmsNorm},
      TONNAGE_VECTOR_ROWS(ROW)
#undef ROW
          {"reference", CpuLevel::kPortable, reference::RmsNorm},
  };
  return kTable;
}

}  // namespace tonnage
#endif
