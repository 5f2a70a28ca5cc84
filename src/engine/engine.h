// Runs one loaded model for many requests at a time, on one stepping thread of its own. Whatever it
// accepts finishes: a request starts when a slot, every page and all the host memory that it can
// need are reserved. Requests wait in a queue bounded in requests and tokens, first come, first
// served. A step allocates nothing; what a request needs is allocated when it starts. Every method
// is safe from any thread; the engine may go before its generations, which then end with an error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "admission/quote.h"
#include "backend/backend.h"
#include "base/result.h"
#include "engine/generation.h"
#include "engine/kv_pages.h"
#include "engine/request.h"
#include "engine/request_memory.h"
#include "engine/scheduler.h"
#include "engine/token_engine.h"
#include "memory/buffer.h"
#include "models/model.h"

namespace tonnage {

// A model whose weights are in place. Made by LoadModel (engine/loader.h).
struct LoadedModel {
  ModelInfo info = {};
  CacheSettings cache = {};
  StepLimits step = {};  // rows > slots and logit_rows >= slots
  QueueLimits queue = {};
  Quote quote = {};
  Buffer runtime = {};         // the ledger's entry for quote.runtime
  Backend* backend = nullptr;  // outlives the model
  std::unique_ptr<Program> program = nullptr;
};

// What the stepping thread is at, for a crash report: to be read at any moment, locks or not.
struct StepMark {
  std::atomic<std::uint64_t> step{0};     // the latest that has begun; from 1
  std::atomic<std::int64_t> rows{0};      // of it
  std::atomic<std::int64_t> requests{0};  // that are in it
  std::atomic<bool> computing{false};
};

namespace internal {
class Sequence;
}

class Engine final : public TokenEngine {
 public:
  explicit Engine(LoadedModel model);
  ~Engine() override;  // ends every generation
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  using TokenEngine::Start;
  Result<std::vector<Generation>> Start(Request request, int choices,
                                        std::function<void()> on_event) override;

  // From now on what comes is refused with `why`, until it is nothing. What runs or waits goes on.
  void RefuseNew(std::optional<Error> why);

  // The logits of every position of `ids`: [ids, vocab]. Waits for its turn like a request.
  Result<std::vector<float>> Evaluate(std::vector<std::int32_t> ids);

  const ModelInfo& info() const override { return model_.info; }
  const CacheSettings& cache() const override { return model_.cache; }
  Quote quote() const override { return model_.quote; }
  EngineStatus status() const override;
  const Backend& backend() const { return *model_.backend; }
  const StepMark& mark() const { return mark_; }

 private:
  using SequencePtr = std::shared_ptr<internal::Sequence>;

  Status CheckTokens(std::span<const std::int32_t> tokens) const;
  // Checks the request and fills in what it left out.
  Status Complete(Request& request) const;
  // All of them or none.
  Status Enqueue(std::span<const SequencePtr> sequences);

  // The stepping thread.
  void Run();
  void AdmitWaiting(Clock::time_point now);  // under mutex_
  void Step();
  Status Compute();
  Status Submit();
  void FillInputs();
  void Deliver(Clock::time_point now);
  void RetireEnded();
  void FailAll(const Error& error);

  const LoadedModel model_;
  const SchedulerLimits scheduler_limits_;
  StepMark mark_;

  // Of the stepping thread.
  KvPagePool pages_;
  const std::shared_ptr<Budget> request_memory_;  // outlives the engine in what was not yet read
  SamplerScratch scratch_;
  std::vector<SequencePtr> running_;      // in the order of arrival
  std::vector<SequenceState> states_;     // of running_
  std::vector<Slice> slices_;             // what the current step computes
  std::vector<std::int32_t> tokens_;      // [rows]
  std::vector<std::int32_t> positions_;   // [rows]
  std::vector<std::int32_t> slots_;       // [rows]
  std::vector<std::int32_t> logit_rows_;  // [logit rows]
  std::int64_t decode_rows_ = 0;
  Clock::duration mean_run_ = {};  // moves an eighth of the way to each new one

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable work_;
  std::deque<SequencePtr> waiting_;
  EngineStatus status_;
  std::optional<Error> refusing_;
  bool stopping_ = false;

  std::thread thread_;  // last, so that it starts when everything else is there
};

}  // namespace tonnage
