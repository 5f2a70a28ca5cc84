#include "kernels/moe/moe.h"

#include "kernels/vector_levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moe/moe.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tonnage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The largest first, ties to the lower id: an id goes in before the first that is smaller.
HWY_INLINE void TopK(const float* logits, std::int64_t experts, std::int64_t top_k,
                     std::int32_t* ids) {
  for (std::int64_t e = 0; e < experts; ++e) {
    std::int64_t j = e < top_k ? e : top_k;
    if (j == top_k && !(logits[e] > logits[ids[top_k - 1]])) continue;
    if (j == top_k) --j;
    for (; j > 0 && logits[e] > logits[ids[j - 1]]; --j) ids[j] = ids[j - 1];
    ids[j] = static_cast<std::int32_t>(e);
  }
}

HWY_INLINE float SumOfExp(const float* logits, std::int64_t experts, float largest) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(d);
  std::int64_t e = 0;
  for (; e + lanes <= experts; e += lanes) {
    sums = hn::Add(sums, FastExp(d, hn::Sub(hn::LoadU(d, logits + e), hn::Set(d, largest))));
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; e < experts; ++e) sum += hn::GetLane(FastExp(d1, hn::Set(d1, logits[e] - largest)));
  return sum;
}

void Route(const RouteArgs& args, std::int64_t begin, std::int64_t end) {
  const hn::CappedTag<float, 1> d1;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* logits = args.logits + row * args.experts;
    std::int32_t* ids = args.ids + row * args.top_k;
    float* weights = args.weights + row * args.top_k;
    TopK(logits, args.experts, args.top_k, ids);
    const float largest = logits[ids[0]];
    float chosen = 0.0f;
    for (std::int64_t j = 0; j < args.top_k; ++j) {
      weights[j] = hn::GetLane(FastExp(d1, hn::Set(d1, logits[ids[j]] - largest)));
      chosen += weights[j];
    }
    // Normalized, the softmax's own denominator cancels out.
    const float sum = args.normalize ? chosen : SumOfExp(logits, args.experts, largest);
    for (std::int64_t j = 0; j < args.top_k; ++j) weights[j] /= sum;
  }
}

void ExpertSum(const ExpertSumArgs& args, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = args.x + row * args.top_k * args.width;
    const float* weights = args.weights + row * args.top_k;
    float* y = args.y + row * args.width;
    std::int64_t i = 0;
    for (; i + lanes <= args.width; i += lanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t j = 0; j < args.top_k; ++j) {
        sum = hn::MulAdd(hn::Set(d, weights[j]), hn::LoadU(d, x + j * args.width + i), sum);
      }
      hn::StoreU(sum, d, y + i);
    }
    for (; i < args.width; ++i) {
      float sum = 0.0f;
      for (std::int64_t j = 0; j < args.top_k; ++j) sum += weights[j] * x[j * args.width + i];
      y[i] = sum;
    }
  }
}

}  // namespace tonnage::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tonnage {

std::span<const MoeKernel> MoeKernels() {
  static constexpr MoeKernel kTable[] = {
#define ROW(name, level, target) {name, level, target::Route, target::ExpertSum},
      TONNAGE_VECTOR_ROWS(ROW)
#undef ROW
          {"reference", CpuLevel::kPortable, reference::Route, reference::ExpertSum},
  };
  return kTable;
}

}  // namespace tonnage
#endif
