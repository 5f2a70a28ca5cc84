#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace tonnage {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Below this a float's division overflows; the draw has long been greedy there.
constexpr float kLeastTemperature = 1e-6f;

// The first of the highest, or -1 when none is above minus infinity; NaN is passed over.
std::int32_t ArgMax(std::span<const float> logits) {
  constexpr size_t kLanes = 16;  // maxima side by side, which compilers turn into vectors
  float highest[kLanes];
  std::fill(std::begin(highest), std::end(highest), kMinusInfinity);
  const size_t whole = logits.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      highest[j] = logits[i + j] > highest[j] ? logits[i + j] : highest[j];
    }
  }
  for (float logit : logits.subspan(whole)) highest[0] = logit > highest[0] ? logit : highest[0];
  const float best = *std::max_element(std::begin(highest), std::end(highest));
  if (best == kMinusInfinity) return -1;
  return static_cast<std::int32_t>(std::ranges::find(logits, best) - logits.begin());
}

}  // namespace

Sampler::Sampler(const SamplingParams& params, std::span<const std::int32_t> prompt,
                 std::int64_t max_tokens, std::uint64_t fresh_seed)
    : params_(params), random_(params.seed.value_or(fresh_seed)) {
  if (params_.has_penalties()) history_ = TokenHistory(prompt, max_tokens, params_.repeat_last_n);
}

// logit' = (logit > 0 ? logit / repetition : logit * repetition) - frequency * count
//          - presence * [count > 0] + bias
std::span<const float> Sampler::Adjust(std::span<const float> logits,
                                       SamplerScratch& scratch) const {
  if (!params_.has_penalties() && params_.logit_bias.empty()) return logits;
  const auto adjusted = std::span(scratch.logits_).first(logits.size());
  std::copy(logits.begin(), logits.end(), adjusted.begin());
  const auto repetition = static_cast<float>(params_.repetition_penalty);
  for (const TokenHistory::Count& count : history_.counts()) {
    if (count.in_window == 0) continue;
    float& logit = adjusted[static_cast<size_t>(count.token)];
    logit = logit > 0 ? logit / repetition : logit * repetition;
    if (count.generated > 0) {
      logit -= static_cast<float>(params_.presence_penalty +
                                  params_.frequency_penalty * count.generated);
    }
  }
  for (const LogitBias& bias : params_.logit_bias) {
    adjusted[static_cast<size_t>(bias.token)] += bias.bias;
  }
  return adjusted;
}

Result<std::int32_t> Sampler::Next(std::span<const float> logits, SamplerScratch& scratch) {
  CHECK_EQ(logits.size(), scratch.candidates_.size());
  const auto adjusted = Adjust(logits, scratch);
  const std::int32_t likeliest = ArgMax(adjusted);
  const float highest = likeliest < 0 ? kMinusInfinity : adjusted[static_cast<size_t>(likeliest)];
  if (std::isinf(highest)) {
    return Internal("the model gave no finite logits: its weights or the computation are broken");
  }
  const std::int32_t token = params_.greedy() ? likeliest : Choose(adjusted, highest, scratch);
  history_.Append(token);
  return token;
}

std::int32_t Sampler::Choose(std::span<const float> logits, float highest,
                             SamplerScratch& scratch) {
  const auto room = std::span(scratch.candidates_);
  const auto weights = std::span(scratch.weights_);
  const auto temperature = std::max(static_cast<float>(params_.temperature), kLeastTemperature);
  const bool typical = params_.typical_p < 1, top_p = params_.top_p<1, min_p = params_.min_p> 0;
  std::span<Candidate> candidates;
  double total = 0;
  if (params_.top_k > 0 && static_cast<size_t>(params_.top_k) < room.size()) {
    candidates = SelectTopK(logits, room.first(static_cast<size_t>(params_.top_k)));
    total = SetWeights(candidates, temperature);
  } else {
    total = Weigh(logits, highest, temperature, weights);
    if (!typical && !top_p && !min_p) {
      return static_cast<std::int32_t>(Draw(weights, total, random_.NextUnit()));
    }
    // What is sure to be dropped is not even looked at: all tokens below this weight together hold
    // less than top-p leaves out, and min-p is such a bound itself (the highest weight is 1).
    double least = 0;
    if (!typical && top_p) least = (1 - params_.top_p) * total / static_cast<double>(room.size());
    if (!typical && min_p) least = std::max(least, params_.min_p);
    candidates = AtLeast(logits, weights, static_cast<float>(least), room);
  }
  if (typical) {
    candidates = KeepTypical(candidates, params_.typical_p, total);
    total = TotalWeight(candidates);
  }
  if (top_p) candidates = KeepTopP(candidates, params_.top_p, total);
  if (min_p) candidates = KeepMinP(candidates, params_.min_p);
  return Draw(candidates, random_.NextUnit()).token;
}

float Logprobs(std::span<const float> logits, std::int32_t token, std::span<TokenLogprob> top) {
  const std::int32_t likeliest = ArgMax(logits);
  const float highest = likeliest < 0 ? 0 : logits[static_cast<size_t>(likeliest)];
  double sum = 0;
  for (float logit : logits) sum += std::isnan(logit) ? 0 : ExpNonPositive(logit - highest);
  const auto log_total = static_cast<float>(std::log(sum)) + highest;
  Candidate best[kMaxTopLogprobs];
  const auto selected =
      SelectTopK(logits, std::span(best).first(std::min(top.size(), std::size(best))));
  for (size_t i = 0; i < selected.size(); ++i) {
    top[i] = {selected[i].token, selected[i].logit - log_total};
  }
  return logits[static_cast<size_t>(token)] - log_total;
}

}  // namespace tonnage
