#include "engine/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tonnage {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

bool Likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// The shortest prefix, in the order `before`, that holds the wanted weight. The order is
// established block by block, because the answer is usually short and the vocabulary long.
template <typename Before>
std::span<Candidate> KeepShare(std::span<Candidate> candidates, double wanted, Before before) {
  double held = 0;
  size_t sorted = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i == sorted) {
      const size_t end = std::min(candidates.size(), std::max<size_t>(64, 4 * sorted));
      const auto at = [&](size_t index) {
        return candidates.begin() + static_cast<std::ptrdiff_t>(index);
      };
      if (end < candidates.size()) {
        std::nth_element(at(sorted), at(end), candidates.end(), before);
      }
      std::sort(at(sorted), at(end), before);
      sorted = end;
    }
    held += candidates[i].weight;
    if (held >= wanted) return candidates.first(i + 1);
  }
  return candidates;
}

}  // namespace

double TotalWeight(std::span<const Candidate> candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

std::span<Candidate> SelectTopK(std::span<const float> logits, std::span<Candidate> out) {
  const size_t k = std::min(out.size(), logits.size());
  if (k == 0) return {};
  // A heap whose front is the unlikeliest kept: most logits cost one comparison with it.
  size_t kept = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const float logit = std::isnan(logits[i]) ? kMinusInfinity : logits[i];
    const Candidate candidate{.logit = logit, .token = static_cast<std::int32_t>(i)};
    if (kept < k) {
      out[kept++] = candidate;
    } else if (logit > out[0].logit) {
      std::pop_heap(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k), Likelier);
      out[k - 1] = candidate;
    } else {
      continue;
    }
    std::push_heap(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept), Likelier);
  }
  const auto top = out.first(k);
  std::sort_heap(top.begin(), top.end(), Likelier);
  return top;
}

double SetWeights(std::span<Candidate> candidates, float temperature) {
  float highest = kMinusInfinity;
  for (const Candidate& candidate : candidates) highest = std::max(highest, candidate.logit);
  for (Candidate& candidate : candidates) {
    candidate.weight = ExpNonPositive((candidate.logit - highest) / temperature);
  }
  return TotalWeight(candidates);
}

double Weigh(std::span<const float> logits, float highest, float temperature,
             std::span<float> weights) {
  const size_t size = logits.size();
  const float* from = logits.data();
  float* to = weights.data();
  for (size_t i = 0; i < size; ++i) {
    to[i] = ExpNonPositive((from[i] - highest) / temperature);
  }
  // Eight sums side by side: one alone would wait for itself at every addition.
  double sums[8] = {};
  for (size_t i = 0; i + 8 <= size; i += 8) {
    for (size_t j = 0; j < 8; ++j) sums[j] += to[i + j];
  }
  for (size_t i = size / 8 * 8; i < size; ++i) sums[0] += to[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

std::span<Candidate> AtLeast(std::span<const float> logits, std::span<const float> weights,
                             float least, std::span<Candidate> out) {
  size_t kept = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < least) continue;
    out[kept++] = {.logit = logits[i], .weight = weights[i], .token = static_cast<std::int32_t>(i)};
  }
  return out.first(kept);
}

std::span<Candidate> KeepTypical(std::span<Candidate> candidates, double p, double total) {
  double entropy = 0;
  for (Candidate& candidate : candidates) {
    const double p_i = candidate.weight / total;
    candidate.distance = static_cast<float>(-std::log(p_i));  // infinite where p_i is 0
    if (p_i > 0) entropy += p_i * candidate.distance;
  }
  for (Candidate& candidate : candidates) {
    candidate.distance = std::abs(candidate.distance - static_cast<float>(entropy));
  }
  return KeepShare(candidates, p * total, [](const Candidate& a, const Candidate& b) {
    return a.distance != b.distance ? a.distance < b.distance : Likelier(a, b);
  });
}

std::span<Candidate> KeepTopP(std::span<Candidate> candidates, double p, double total) {
  return KeepShare(candidates, p * total, Likelier);
}

std::span<Candidate> KeepMinP(std::span<Candidate> candidates, double p) {
  float highest = 0;
  for (const Candidate& candidate : candidates) highest = std::max(highest, candidate.weight);
  const auto least = static_cast<float>(p * highest);
  size_t kept = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.weight >= least) candidates[kept++] = candidate;
  }
  return candidates.first(kept);
}

const Candidate& Draw(std::span<const Candidate> candidates, double unit) {
  const double target = unit * TotalWeight(candidates);
  double sum = 0;
  const Candidate* last = &candidates.front();
  for (const Candidate& candidate : candidates) {
    if (candidate.weight <= 0) continue;
    sum += candidate.weight;
    last = &candidate;
    if (sum > target) break;
  }
  return *last;
}

std::size_t Draw(std::span<const float> weights, double total, double unit) {
  const double target = unit * total;
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    sum += weights[i];
    last = i;
    if (sum > target) break;
  }
  return last;
}

}  // namespace tonnage
