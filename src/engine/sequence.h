// One request inside the engine: its tokens, its sampler, and the events that its caller has yet to
// read. While it waits it holds its prompt; everything else is sized once, when it gets its slot,
// and goes when its end has been read. The stepping thread writes, one reader reads, and the mutex
// guards where they meet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/generation.h"
#include "engine/kv_pages.h"
#include "engine/request.h"
#include "engine/request_memory.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "memory/budget.h"

namespace tonnage::internal {

class Sequence final : public EventSource {
 public:
  // A request that has been checked, with max_tokens set. `on_event` is called by the stepping
  // thread after each event.
  Sequence(Request request, std::uint64_t fresh_seed, std::function<void()> on_event);
  // An evaluation: every row's logits [ids, vocab] are wanted, no token is chosen.
  Sequence(std::vector<std::int32_t> ids, std::int64_t vocab);

  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  // All that the cache may have to hold.
  std::int64_t most_tokens() const { return prompt_tokens() + request_.max_tokens.value_or(0); }
  bool evaluates() const { return !request_.max_tokens.has_value(); }
  // What a reservation for it must hold, beside what an evaluation's caller gets.
  Bytes running_bytes() const;

  // --- The stepping thread.
  // Takes all the memory that it will ever need. `memory` is for running_bytes(); `budget`, from
  // which it comes, lives as long as the sequence.
  void Begin(KvReservation reservation, std::shared_ptr<Budget> budget, Reservation memory,
             Clock::time_point now);
  std::int32_t slot() const { return reservation_->slot(); }
  Clock::time_point begun_at() const { return *begun_at_; }
  SequenceState state() const {
    return {static_cast<std::int64_t>(tokens_.size()), computed_, prompt_tokens_, evaluates()};
  }
  // [rows], from position `first`.
  std::span<const std::int32_t> Tokens(std::int64_t first, std::int64_t rows) const;
  // `rows` more are in the cache, and these are the logits [logit rows, vocab] that were asked for.
  void Advance(std::int64_t rows, std::span<const float> logits, SamplerScratch& scratch,
               Clock::time_point now);
  // Ends it when it was cancelled or its deadline has passed.
  void EndIfDue(Clock::time_point now);
  void Fail(Error error) { End(FinishReason::kError, std::move(error)); }
  bool ended() const { return ended_.has_value(); }
  // Gives slot and pages back.
  void Release() { reservation_.reset(); }
  // Tells the reader of the end, once, after everything has been given back.
  void PublishEnd(Clock::time_point now);

  // --- The reader.
  // With the DoneEvent goes all that the earlier events borrowed.
  GenerationEvent Next() override;
  std::optional<GenerationEvent> TryNext() override;
  // Of an evaluation that has ended well.
  std::vector<float> TakeLogits() { return std::move(logits_); }

  // --- Any thread.
  void Cancel() override { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  void Choose(std::span<const float> logits, SamplerScratch& scratch, Clock::time_point now);
  void End(FinishReason reason, std::optional<Error> error = std::nullopt);
  // Tells the reader that there is more. Not under the mutex.
  void Notify();
  bool HasNext() const { return read_ < delivered_ || published_; }  // under mutex_
  GenerationEvent TakeNext();                                        // under mutex_

  Request request_;  // the prompt moves to tokens_
  const std::int64_t prompt_tokens_;
  const std::uint64_t fresh_seed_ = 0;
  const std::function<void()> on_event_;
  std::atomic<bool> cancelled_{false};

  // Of the stepping thread.
  std::optional<Sampler> sampler_;
  std::optional<KvReservation> reservation_;
  std::int64_t computed_ = 0;
  std::int64_t generated_ = 0;
  std::int64_t evaluated_ = 0;
  std::optional<DoneEvent> ended_;
  const Clock::time_point queued_at_ = Clock::now();
  std::optional<Clock::time_point> begun_at_, first_token_at_;

  // Written by the stepping thread; the reader reads what has been delivered.
  std::shared_ptr<Budget> budget_;
  Reservation memory_;
  std::vector<std::int32_t> tokens_;        // [prompt + max_tokens]
  std::vector<float> logprobs_;             // [max_tokens] with Request::logprobs
  std::vector<TokenLogprob> top_logprobs_;  // [max_tokens, logprobs]
  std::vector<float> logits_;               // [ids, vocab] of an evaluation

  std::size_t read_ = 0;  // of the reader: tokens of the answer that it has

  std::mutex mutex_;  // guards what follows
  std::condition_variable arrived_;
  std::size_t delivered_ = 0;  // tokens of the answer
  bool published_ = false;     // ended_ is final and may be read
};

}  // namespace tonnage::internal
