// One answer of a runner, as its reader sees it: the supervisor's thread writes, one reader reads.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/generation.h"
#include "runner/channel.h"

namespace tonnage::internal {

class RemoteSource final : public EventSource {
 public:
  RemoteSource(std::int64_t prompt_tokens, std::function<void()> on_event);

  // Before the first event can come.
  void Connect(std::uint64_t id, std::weak_ptr<Channel> channel);

  // --- The writer. The reader is told after each.
  void Push(wire::Token token);
  void End(DoneEvent done);
  // The runner is gone.
  void Fail(const Error& error);

  // --- The reader.
  GenerationEvent Next() override;
  std::optional<GenerationEvent> TryNext() override;

  // --- Any thread.
  void Cancel() override;

 private:
  GenerationEvent TakeNext();  // under mutex_, where there is one
  bool HasNext() const { return !tokens_.empty() || done_.has_value(); }

  const std::int64_t prompt_tokens_;
  const std::function<void()> on_event_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable arrived_;
  std::uint64_t id_ = 0;
  std::weak_ptr<Channel> channel_;
  bool cancelled_ = false;
  std::int64_t generated_ = 0;
  std::deque<TokenEvent> tokens_;
  std::deque<std::vector<TokenLogprob>> lent_;  // what the events borrow, until the end
  std::optional<DoneEvent> done_;
};

}  // namespace tonnage::internal
