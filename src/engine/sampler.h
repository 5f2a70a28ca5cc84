// From logits to a token, for one request. The order is: penalties, bias, temperature, top-k,
// typical, top-p, min-p, draw. Penalties and bias come first because they are defined on raw
// logits; temperature next, so that every share of probability means the distribution that is drawn
// from; then filters from the coarsest to the finest, each on what the one before has left. Every
// request has its own random numbers, so its tokens do not depend on its company. Nothing here
// allocates after construction. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/candidates.h"
#include "engine/random.h"
#include "engine/sampling_params.h"
#include "engine/token_history.h"

namespace tonnage {

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0;
};

// The most alternatives that can be asked for beside the chosen token.
inline constexpr std::int64_t kMaxTopLogprobs = 20;

// What sampling writes to; sized for one vocabulary, shared by all requests of a stepping thread.
class SamplerScratch {
 public:
  explicit SamplerScratch(std::int64_t vocab)
      : logits_(static_cast<size_t>(vocab)),
        weights_(static_cast<size_t>(vocab)),
        candidates_(static_cast<size_t>(vocab)) {}

 private:
  friend class Sampler;
  std::vector<float> logits_;          // [vocab]
  std::vector<float> weights_;         // [vocab]
  std::vector<Candidate> candidates_;  // [vocab]
};

class Sampler {
 public:
  // `params` are valid. The seed counts only where params give none.
  Sampler(const SamplingParams& params, std::span<const std::int32_t> prompt,
          std::int64_t max_tokens, std::uint64_t fresh_seed);

  // Chooses the next token from logits [vocab] and takes it into the history. Internal when the
  // logits hold nothing that can be chosen.
  Result<std::int32_t> Next(std::span<const float> logits, SamplerScratch& scratch);

 private:
  std::span<const float> Adjust(std::span<const float> logits, SamplerScratch& scratch) const;
  std::int32_t Choose(std::span<const float> logits, float highest, SamplerScratch& scratch);

  SamplingParams params_;
  Random random_;
  TokenHistory history_;
};

// Log probabilities under the model's own distribution, before anything above: of `token`, and of
// the likeliest, best first, as many as `top` has room for.
float Logprobs(std::span<const float> logits, std::int32_t token, std::span<TokenLogprob> top);

}  // namespace tonnage
