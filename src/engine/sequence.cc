#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tonnage::internal {

Sequence::Sequence(Request request, std::uint64_t fresh_seed, std::function<void()> on_event)
    : request_(std::move(request)),
      prompt_tokens_(static_cast<std::int64_t>(request_.prompt.size())),
      fresh_seed_(fresh_seed),
      on_event_(std::move(on_event)) {
  request_.prompt.shrink_to_fit();
}

Sequence::Sequence(std::vector<std::int32_t> ids, std::int64_t vocab)
    : request_{.prompt = std::move(ids)},
      prompt_tokens_(static_cast<std::int64_t>(request_.prompt.size())),
      logits_(request_.prompt.size() * static_cast<size_t>(vocab)) {}

Bytes Sequence::running_bytes() const {
  const bool penalizes = request_.sampling.has_penalties();
  return RunningRequestBytes({.prompt_tokens = prompt_tokens_,
                              .max_tokens = request_.max_tokens.value_or(0),
                              .logprobs = request_.logprobs,
                              .history_window = penalizes ? request_.sampling.repeat_last_n : 0});
}

void Sequence::Begin(KvReservation reservation, std::shared_ptr<Budget> budget, Reservation memory,
                     Clock::time_point now) {
  reservation_.emplace(std::move(reservation));
  budget_ = std::move(budget);
  memory_ = std::move(memory);
  begun_at_ = now;
  tokens_.reserve(static_cast<size_t>(most_tokens()));
  tokens_.assign(request_.prompt.begin(), request_.prompt.end());
  request_.prompt = std::vector<std::int32_t>();
  if (evaluates()) return;
  sampler_.emplace(request_.sampling, tokens_, *request_.max_tokens, fresh_seed_);
  if (request_.logprobs) {
    const auto max_tokens = static_cast<size_t>(*request_.max_tokens);
    logprobs_.reserve(max_tokens);
    top_logprobs_.reserve(max_tokens * static_cast<size_t>(*request_.logprobs));
  }
}

std::span<const std::int32_t> Sequence::Tokens(std::int64_t first, std::int64_t rows) const {
  return std::span(tokens_).subspan(static_cast<size_t>(first), static_cast<size_t>(rows));
}

void Sequence::Advance(std::int64_t rows, std::span<const float> logits, SamplerScratch& scratch,
                       Clock::time_point now) {
  computed_ += rows;
  if (!evaluates()) {
    if (!logits.empty()) Choose(logits, scratch, now);
    return;
  }
  std::copy(logits.begin(), logits.end(),
            logits_.begin() + static_cast<std::ptrdiff_t>(evaluated_));
  evaluated_ += static_cast<std::int64_t>(logits.size());
  if (computed_ == prompt_tokens()) End(FinishReason::kLength);
}

void Sequence::Choose(std::span<const float> logits, SamplerScratch& scratch,
                      Clock::time_point now) {
  const auto chosen = sampler_->Next(logits, scratch);
  if (!chosen.ok()) return Fail(chosen.error());
  if (!first_token_at_) first_token_at_ = now;
  ++generated_;
  if (std::ranges::find(request_.stop_tokens, *chosen) != request_.stop_tokens.end()) {
    End(FinishReason::kStop);
    ended_->stop_token = *chosen;
    return;
  }
  TokenLogprob alternatives[kMaxTopLogprobs];
  const auto top =
      std::span(alternatives).first(static_cast<size_t>(request_.logprobs.value_or(0)));
  const float logprob = request_.logprobs ? Logprobs(logits, *chosen, top) : 0;
  {
    std::lock_guard lock(mutex_);
    tokens_.push_back(*chosen);
    if (request_.logprobs) logprobs_.push_back(logprob);
    top_logprobs_.insert(top_logprobs_.end(), top.begin(), top.end());
    ++delivered_;
  }
  Notify();
  if (generated_ == *request_.max_tokens) End(FinishReason::kLength);
}

void Sequence::EndIfDue(Clock::time_point now) {
  if (cancelled_.load(std::memory_order_relaxed)) {
    End(FinishReason::kCancelled);
  } else if (request_.deadline && now >= *request_.deadline) {
    Fail(Unavailable("the request's deadline passed after {} tokens of its answer", generated_));
  }
}

void Sequence::End(FinishReason reason, std::optional<Error> error) {
  if (ended_) return;
  ended_ = DoneEvent{.reason = reason, .error = std::move(error)};
}

void Sequence::PublishEnd(Clock::time_point now) {
  CHECK(ended_ && !reservation_);
  const auto begun = begun_at_.value_or(now), first = first_token_at_.value_or(now);
  ended_->usage = {.prompt_tokens = prompt_tokens(),
                   .generated_tokens = generated_,
                   .queued = begun - queued_at_,
                   .prefill = first - begun,
                   .decode = now - first};
  {
    std::lock_guard lock(mutex_);
    published_ = true;
  }
  Notify();
}

void Sequence::Notify() {
  arrived_.notify_one();
  if (on_event_) on_event_();
}

GenerationEvent Sequence::Next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return HasNext(); });
  return TakeNext();
}

std::optional<GenerationEvent> Sequence::TryNext() {
  std::lock_guard lock(mutex_);
  if (!HasNext()) return std::nullopt;
  return TakeNext();
}

GenerationEvent Sequence::TakeNext() {
  if (read_ >= delivered_) {
    // Assigned, not cleared: the memory goes.
    tokens_ = std::vector<std::int32_t>();
    logprobs_ = std::vector<float>();
    top_logprobs_ = std::vector<TokenLogprob>();
    memory_ = Reservation();
    return *ended_;
  }
  TokenEvent event{.token = tokens_[static_cast<size_t>(prompt_tokens_) + read_]};
  if (request_.logprobs) {
    const auto top = static_cast<size_t>(*request_.logprobs);
    event.logprob = logprobs_[read_];
    event.top = std::span(top_logprobs_).subspan(read_ * top, top);
  }
  ++read_;
  return event;
}

}  // namespace tonnage::internal
