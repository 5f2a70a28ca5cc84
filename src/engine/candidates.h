// The filters between logits and a draw, as functions on candidates. Every filter keeps at least
// one candidate, moves those that stay to the front, and returns them; none allocates. Equal logits
// are ordered by token, so that results do not depend on the order in which candidates came.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace tonnage {

struct Candidate {
  float logit = 0;
  float weight = 0;  // exp(logit - the highest logit); a probability once divided by the sum
  std::int32_t token = 0;
  float distance = 0;  // KeepTypical's: how far the surprise is from the entropy
};

// e^x for x <= 0, to about 1e-7 relative; 0 below -87 and for NaN. In plain float arithmetic, so
// that every machine and library gives the same bits.
inline float ExpNonPositive(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // few bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  // Masks instead of branches, so that loops over this become vectors.
  const std::int32_t mask = -static_cast<std::int32_t>(x >= -87.0f);
  const auto clamped = std::bit_cast<float>(std::bit_cast<std::int32_t>(x) & mask);
  const float n = (clamped * kLog2E + kRound) - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;  // |r| <= ln(2) / 2
  // Taylor's series of e^r to the seventh power.
  float y = 1.0f / 5040;
  y = y * r + 1.0f / 720;
  y = y * r + 1.0f / 120;
  y = y * r + 1.0f / 24;
  y = y * r + 1.0f / 6;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  const auto scale = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(y * scale) & mask);
}

// The k highest of `logits` [vocab], sorted from the highest; NaN counts as minus infinity. `out`
// has room for k.
std::span<Candidate> SelectTopK(std::span<const float> logits, std::span<Candidate> out);

// Sets the weights of the softmax at this temperature (> 0); returns their sum.
double SetWeights(std::span<Candidate> candidates, float temperature);

// The same for all of `logits` [vocab], of which `highest` is the highest, into `weights` [vocab].
double Weigh(std::span<const float> logits, float highest, float temperature,
             std::span<float> weights);

// Those of at least this weight, in the order of their tokens. `out` has room for all.
std::span<Candidate> AtLeast(std::span<const float> logits, std::span<const float> weights,
                             float least, std::span<Candidate> out);

// The filters take `total`, the weight of all candidates that the filter before has left. Some may
// be missing from `candidates` if the filter is sure to drop them.

// Locally typical sampling: those whose surprise -log p is nearest the entropy, until they hold the
// share p of the probability.
std::span<Candidate> KeepTypical(std::span<Candidate> candidates, double p, double total);
// The likeliest, until they hold the share p of the probability; sorted from the likeliest.
std::span<Candidate> KeepTopP(std::span<Candidate> candidates, double p, double total);
// Those at least p times as likely as the likeliest.
std::span<Candidate> KeepMinP(std::span<Candidate> candidates, double p);

double TotalWeight(std::span<const Candidate> candidates);

// The candidate, or the index of the weight, at which the running sum, in the order given, passes
// unit * total. unit is in [0, 1).
const Candidate& Draw(std::span<const Candidate> candidates, double unit);
std::size_t Draw(std::span<const float> weights, double total, double unit);

}  // namespace tonnage
