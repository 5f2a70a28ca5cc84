// What requests and the engine around them take of the host's heap, by arithmetic on sizes that are
// known before anything is loaded. The quote prices it, and the engine keeps to it: a request gets
// its slot only with a reservation for all that it can come to hold.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "graph/cache_layout.h"
#include "graph/graph.h"

namespace tonnage {

struct QueueLimits {
  std::int64_t requests = 256;
  std::int64_t tokens = 1 << 20;  // of their prompts
};

// One request, as far as its memory depends on it.
struct RequestSize {
  std::int64_t prompt_tokens = 0;
  std::int64_t max_tokens = 0;
  std::optional<std::int64_t> logprobs = std::nullopt;  // as Request::logprobs
  std::int64_t history_window = 0;  // tokens that penalties look back on; -1: all; 0: none
};

// From when it gets its slot until its answer has been read.
Bytes RunningRequestBytes(const RequestSize& size);
// The most that any request in a context of so many tokens can ask for.
Bytes LargestRequestBytes(std::int64_t context_tokens);

// The engine itself, full slots and a full queue.
Bytes EngineBytes(std::int64_t vocab, const CacheSettings& cache, const StepLimits& step,
                  const QueueLimits& queue);

}  // namespace tonnage
