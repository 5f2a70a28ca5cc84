#include "engine/request_memory.h"

#include "engine/sampler.h"
#include "engine/sequence.h"
#include "engine/token_history.h"

namespace tonnage {
namespace {

constexpr Bytes kTokenBytes = sizeof(std::int32_t);
// The object, its handles, stop tokens and biases, and what the heap puts around each piece.
constexpr Bytes kRequestBytes = sizeof(internal::Sequence) + 2 * kKiB;
// The stepping thread's stack, as far as it is used.
constexpr Bytes kSteppingThreadBytes = 32 * kKiB;

}  // namespace

Bytes RunningRequestBytes(const RequestSize& size) {
  Bytes bytes = kRequestBytes + (size.prompt_tokens + size.max_tokens) * kTokenBytes;
  bytes += TokenHistory::BytesOf(size.prompt_tokens, size.max_tokens, size.history_window);
  if (size.logprobs) {
    const Bytes token = sizeof(float) + *size.logprobs * static_cast<Bytes>(sizeof(TokenLogprob));
    bytes += size.max_tokens * token;
  }
  return bytes;
}

Bytes LargestRequestBytes(std::int64_t context_tokens) {
  return RunningRequestBytes({.prompt_tokens = 1,
                              .max_tokens = context_tokens - 1,
                              .logprobs = kMaxTopLogprobs,
                              .history_window = -1});
}

Bytes EngineBytes(std::int64_t vocab, const CacheSettings& cache, const StepLimits& step,
                  const QueueLimits& queue) {
  constexpr Bytes kSamplerBytes = 2 * sizeof(float) + sizeof(Candidate);  // of each logit
  constexpr Bytes kRowBytes = 3 * kTokenBytes;   // token, position and slot
  constexpr Bytes kPageBytes = 2 * kTokenBytes;  // in the table and among the free
  constexpr Bytes kSlotBytes = 128;              // its state in the scheduler
  const std::int64_t pages = cache.slots * CeilDiv(cache.context_tokens, kKvPageTokens);
  const Bytes waiting = queue.requests * kRequestBytes + queue.tokens * kTokenBytes;
  const Bytes beginning = cache.context_tokens * kTokenBytes;  // a prompt while it is taken over
  return kSteppingThreadBytes + vocab * kSamplerBytes + pages * kPageBytes + step.rows * kRowBytes +
         step.logit_rows * kTokenBytes + cache.slots * kSlotBytes +
         cache.slots * LargestRequestBytes(cache.context_tokens) + beginning + waiting;
}

}  // namespace tonnage
