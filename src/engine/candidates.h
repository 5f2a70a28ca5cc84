// The filters between logits and a draw, as functions on candidates. Every filter keeps at least
// one candidate, moves those that stay to the front, and returns them; none allocates. Equal logits
// are ordered by token, so that results do not depend on the order in which candidates came.
#pragma once

#include <cstdint>
#include <span>

namespace tonnage {

struct Candidate {
  float logit = 0;
  float weight = 0;  // exp(logit - the highest logit); a probability once divided by the sum
  std::int32_t token = 0;
  float distance = 0;  // KeepTypical's: how far the surprise is from the entropy
};

// e^x for x <= 0, to about 1e-7 relative; in plain float arithmetic, so that every machine and
// library gives the same bits.
float ExpNonPositive(float x);

// The k highest of `logits` [vocab], sorted from the highest; NaN counts as minus infinity. `out`
// has room for k.
std::span<Candidate> SelectTopK(std::span<const float> logits, std::span<Candidate> out);

// Sets the weights of the softmax at this temperature (> 0).
void SetWeights(std::span<Candidate> candidates, float temperature);

// Locally typical sampling: those whose surprise -log p is nearest the entropy, until they hold the
// share p of the probability.
std::span<Candidate> KeepTypical(std::span<Candidate> candidates, double p);
// The likeliest, until they hold the share p of the probability; sorted from the likeliest.
std::span<Candidate> KeepTopP(std::span<Candidate> candidates, double p);
// Those at least p times as likely as the likeliest.
std::span<Candidate> KeepMinP(std::span<Candidate> candidates, double p);

// The candidate at which the running sum of the weights, in the order given, passes unit * total.
// unit is in [0, 1).
const Candidate& Draw(std::span<const Candidate> candidates, double unit);

}  // namespace tonnage
