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
  float highest = kMinusInfinity;
  std::int32_t at = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > highest) {
      highest = logits[i];
      at = static_cast<std::int32_t>(i);
    }
  }
  return at;
}

std::span<Candidate> AllCandidates(std::span<const float> logits, std::span<Candidate> out) {
  for (size_t i = 0; i < logits.size(); ++i) {
    const float logit = std::isnan(logits[i]) ? kMinusInfinity : logits[i];
    out[i] = {.logit = logit, .token = static_cast<std::int32_t>(i)};
  }
  return out.first(logits.size());
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
  if (likeliest < 0 || std::isinf(adjusted[static_cast<size_t>(likeliest)])) {
    return Internal("the model gave no finite logits: its weights or the computation are broken");
  }
  std::int32_t token = likeliest;
  if (!params_.greedy()) {
    const auto room = std::span(scratch.candidates_);
    const auto k = static_cast<size_t>(params_.top_k);
    auto candidates = k > 0 && k < room.size() ? SelectTopK(adjusted, room.first(k))
                                               : AllCandidates(adjusted, room);
    SetWeights(candidates, std::max(static_cast<float>(params_.temperature), kLeastTemperature));
    if (params_.typical_p < 1) candidates = KeepTypical(candidates, params_.typical_p);
    if (params_.top_p < 1) candidates = KeepTopP(candidates, params_.top_p);
    if (params_.min_p > 0) candidates = KeepMinP(candidates, params_.min_p);
    token = Draw(candidates, random_.NextUnit()).token;
  }
  history_.Append(token);
  return token;
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
