#include <algorithm>
#include <cmath>

#include "kernels/moe/moe.h"

namespace tonnage::reference {

void Route(const RouteArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* logits = args.logits + row * args.experts;
    std::int32_t* ids = args.ids + row * args.top_k;
    float* weights = args.weights + row * args.top_k;
    const double largest = static_cast<double>(*std::max_element(logits, logits + args.experts));
    double sum = 0.0;
    for (std::int64_t e = 0; e < args.experts; ++e) {
      sum += std::exp(static_cast<double>(logits[e]) - largest);
    }
    double chosen = 0.0;
    for (std::int64_t j = 0; j < args.top_k; ++j) {
      std::int64_t best = -1;
      for (std::int64_t e = 0; e < args.experts; ++e) {
        if (std::find(ids, ids + j, static_cast<std::int32_t>(e)) != ids + j) continue;
        if (best < 0 || logits[e] > logits[best]) best = e;
      }
      ids[j] = static_cast<std::int32_t>(best);
      weights[j] = static_cast<float>(std::exp(static_cast<double>(logits[best]) - largest) / sum);
      chosen += static_cast<double>(weights[j]);
    }
    if (!args.normalize) continue;
    for (std::int64_t j = 0; j < args.top_k; ++j) {
      weights[j] = static_cast<float>(static_cast<double>(weights[j]) / chosen);
    }
  }
}

void ExpertSum(const ExpertSumArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t i = 0; i < args.width; ++i) {
      float sum = 0.0f;
      for (std::int64_t j = 0; j < args.top_k; ++j) {
        sum += args.weights[row * args.top_k + j] * args.x[(row * args.top_k + j) * args.width + i];
      }
      args.y[row * args.width + i] = sum;
    }
  }
}

}  // namespace tonnage::reference
