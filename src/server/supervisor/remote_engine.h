// The engine of a model whose runner is another process: takes requests to it over a channel and
// hands its events to their readers. The runner may come, go and come again while this lives; when
// it goes, every answer that it owed ends at once with the error that says why. What a reader has
// not taken yet is kept, which max_tokens bounds. Every method is safe from any thread; the second
// group is the supervisor's, on its thread. May go before its generations.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/token_engine.h"
#include "runner/channel.h"
#include "runner/wire.h"
#include "server/supervisor/quarantine.h"

namespace tonnage {

namespace internal {
class RemoteSource;
}

class RemoteEngine final : public TokenEngine {
 public:
  // What the model is and what was planned for it, known before anything is loaded.
  RemoteEngine(ModelInfo info, CacheSettings cache, Quote quote);
  ~RemoteEngine() override;  // ends every generation

  using TokenEngine::Start;
  Result<std::vector<Generation>> Start(Request request, int choices,
                                        std::function<void()> on_event) override;
  const ModelInfo& info() const override { return info_; }
  const CacheSettings& cache() const override { return cache_; }
  // As the runner has it, once one has been ready.
  Quote quote() const override;
  EngineStatus status() const override;

  // --- The supervisor's.
  // A runner is ready. Internal when it has another model in it than this.
  Status Attach(std::shared_ptr<Channel> channel, const wire::Ready& ready,
                std::int64_t process_id);
  // What it says. Internal for what makes no sense.
  Status Take(wire::Message message);
  // There is no runner (any more): every answer and every start ends with `why`. `health` is for
  // status().
  void Detach(const Error& why, Status health, bool crashed);
  // When the next runner is started, where that is known.
  void SetRetry(std::optional<Clock::time_point> retry_after);
  bool working() const;

 private:
  using SourcePtr = std::shared_ptr<internal::RemoteSource>;
  // A Start that waits for the runner's word.
  struct Opening {
    std::uint64_t end_id = 0;  // of its choices
    std::optional<Status> answer = std::nullopt;
  };
  struct Answer {
    SourcePtr source;
    std::uint64_t key = 0;
  };

  Result<std::uint64_t> Open(wire::Start start, std::vector<Answer> answers, Opening& opening);
  Status Settle(std::uint64_t id, Status answer);
  Status Deliver(wire::Token token);
  Status Deliver(wire::Done done);
  std::vector<std::uint64_t> RunningKeys() const;  // under mutex_

  const ModelInfo info_;
  const CacheSettings cache_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable settled_;
  Quote quote_;
  std::shared_ptr<Channel> channel_;  // none: there is no runner, and absence_ says why
  Error absence_;
  EngineStatus status_;
  Quarantine quarantine_;
  std::vector<std::uint64_t> faulted_;  // what was running when the runner's engine failed
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Opening*> openings_;
  std::map<std::uint64_t, Answer> answers_;  // in the order in which they get slots
};

}  // namespace tonnage
