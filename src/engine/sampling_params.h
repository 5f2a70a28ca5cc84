// How one request wants its tokens chosen. A value; checked once, before the request starts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace tonnage {

struct LogitBias {
  std::int32_t token = 0;
  float bias = 0;
};

// Every filter's default is "off"; protocols bring their own defaults.
struct SamplingParams {
  double temperature = 1.0;         // 0: greedy, the most likely token
  std::int64_t top_k = 0;           // 0: off
  double top_p = 1.0;               // 1: off
  double min_p = 0.0;               // 0: off
  double typical_p = 1.0;           // 1: off
  double repetition_penalty = 1.0;  // 1: off; of tokens in the prompt and the answer
  double presence_penalty = 0.0;    // of tokens in the answer
  double frequency_penalty = 0.0;   // of tokens in the answer, for each time
  std::int64_t repeat_last_n = -1;  // penalties see the last n tokens; 0: none, -1: all
  std::optional<std::uint64_t> seed = std::nullopt;  // none: a fresh one
  std::vector<LogitBias> logit_bias = {};

  bool greedy() const { return temperature == 0; }
  bool has_penalties() const {
    return repeat_last_n != 0 &&
           (repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0);
  }
};

// InvalidArgument, naming the field, its value and the range, where a value cannot be used.
Status ValidateSampling(const SamplingParams& params, std::int64_t vocab);

}  // namespace tonnage
