#include "server/supervisor/remote_source.h"

#include <utility>

namespace tonnage::internal {

RemoteSource::RemoteSource(std::int64_t prompt_tokens, std::function<void()> on_event)
    : prompt_tokens_(prompt_tokens), on_event_(std::move(on_event)) {}

void RemoteSource::Connect(std::uint64_t id, std::weak_ptr<Channel> channel) {
  std::lock_guard lock(mutex_);
  id_ = id;
  channel_ = std::move(channel);
}

void RemoteSource::Push(wire::Token token) {
  {
    std::lock_guard lock(mutex_);
    if (done_) return;
    ++generated_;
    TokenEvent event{.token = token.token, .logprob = token.logprob};
    if (!token.top.empty()) event.top = lent_.emplace_back(std::move(token.top));
    tokens_.push_back(event);
  }
  arrived_.notify_one();
  if (on_event_) on_event_();
}

void RemoteSource::End(DoneEvent done) {
  {
    std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = std::move(done);
  }
  arrived_.notify_one();
  if (on_event_) on_event_();
}

void RemoteSource::Fail(const Error& error) {
  std::unique_lock lock(mutex_);
  const Usage usage{.prompt_tokens = prompt_tokens_, .generated_tokens = generated_};
  lock.unlock();
  End({.reason = FinishReason::kError, .error = error, .usage = usage});
}

GenerationEvent RemoteSource::Next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return HasNext(); });
  return TakeNext();
}

std::optional<GenerationEvent> RemoteSource::TryNext() {
  std::lock_guard lock(mutex_);
  if (!HasNext()) return std::nullopt;
  return TakeNext();
}

GenerationEvent RemoteSource::TakeNext() {
  if (tokens_.empty()) {
    lent_.clear();
    return *done_;
  }
  const TokenEvent event = tokens_.front();
  tokens_.pop_front();
  return event;
}

void RemoteSource::Cancel() {
  std::shared_ptr<Channel> channel;
  std::uint64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    if (done_ || std::exchange(cancelled_, true)) return;
    channel = channel_.lock();
    id = id_;
  }
  if (channel == nullptr) return;
  (void)channel->Send(wire::Cancel{id}).ok();  // never too long
  channel->Wake();
}

}  // namespace tonnage::internal
