#include "cli/likelihood.h"

#include <algorithm>
#include <cmath>

namespace tonnage::cli {

void LogSoftmax(std::span<float> row) {
  const double max = *std::ranges::max_element(row);
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - max);
  const double log_sum = max + std::log(sum);
  for (float& value : row) value = static_cast<float>(value - log_sum);
}

void Likelihood::Add(std::span<const float> log_probs, std::int32_t token) {
  log_prob_ += log_probs[static_cast<size_t>(token)];
  ++tokens_;
}

double Likelihood::Perplexity() const {
  return std::exp(-log_prob_ / static_cast<double>(tokens_));
}

void Divergence::Add(std::span<const float> reference, std::span<const float> other) {
  double divergence = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double log_p = reference[i], p = std::exp(log_p);
    if (p > 0) divergence += p * (log_p - other[i]);
  }
  sum_ += divergence;
  max_ = std::max(max_, divergence);
  const auto top = [](std::span<const float> row) {
    return std::ranges::max_element(row) - row.begin();
  };
  if (top(reference) == top(other)) ++top_same_;
  ++rows_;
}

}  // namespace tonnage::cli
