// What the engine is asked for and what it answers: tokens in, tokens out. Values; no thread of
// their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/sampler.h"

namespace tonnage {

using Clock = std::chrono::steady_clock;

struct Request {
  std::vector<std::int32_t> prompt;  // token ids; at least one
  SamplingParams sampling = {};
  std::optional<std::int64_t> max_tokens = std::nullopt;  // none: what the context leaves
  std::vector<std::int32_t> stop_tokens = {};             // end the answer and are no part of it
  // 0: the chosen token's log probability; n: the n likeliest beside it.
  std::optional<std::int64_t> logprobs = std::nullopt;
  std::optional<Clock::time_point> deadline = std::nullopt;
};

// One token of the answer.
struct TokenEvent {
  std::int32_t token = 0;
  float logprob = 0;  // with Request::logprobs
  // Likewise; borrowed from the Generation until it gives the DoneEvent.
  std::span<const TokenLogprob> top = {};
};

enum class FinishReason {
  kStop,       // a stop token
  kLength,     // max_tokens, or the context is full
  kCancelled,  // by the caller
  kError,
};
std::string_view FinishReasonName(FinishReason reason);

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;  // a stop token counts: it was computed
  Clock::duration queued = {};        // until a slot was free
  Clock::duration prefill = {};       // from then to the first token
  Clock::duration decode = {};        // from then to the end
};

// The last event of every generation, whatever happens.
struct DoneEvent {
  FinishReason reason = FinishReason::kStop;
  std::optional<std::int32_t> stop_token = std::nullopt;  // with kStop
  std::optional<Error> error = std::nullopt;              // with kError
  Usage usage = {};
};

using GenerationEvent = std::variant<TokenEvent, DoneEvent>;

}  // namespace tonnage
