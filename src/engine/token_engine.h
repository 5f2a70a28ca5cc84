// What runs one loaded model for many requests: tokens in, tokens out. The engine of this process
// implements it, and so can a stand-in for one in another process. Every method is safe from any
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "admission/quote.h"
#include "base/result.h"
#include "engine/generation.h"
#include "engine/request.h"
#include "graph/cache_layout.h"
#include "memory/report.h"
#include "models/model.h"

namespace tonnage {

struct EngineStatus {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t waiting_tokens = 0;
  std::int64_t free_slots = 0;
  std::int64_t free_pages = 0;
  std::int64_t pages = 0;  // in all
  std::uint64_t steps = 0;
  Clock::time_point stepped_at =
      {};                         // the last sign of life of what steps, or when work came to it
  Clock::duration mean_run = {};  // of late: from a request's slot to its end
  Status health = {};             // the fault that stopped the engine
  // Of the process that runs the model. Of the engine alone, only what the ledger says.
  MemoryReport memory = {};
  // Of a model in a process of its own.
  std::int64_t process_id = 0;                                  // 0: there is none now
  std::int64_t crashes = 0;                                     // so far
  std::optional<Clock::time_point> retry_after = std::nullopt;  // when it is started again
};

class TokenEngine {
 public:
  virtual ~TokenEngine() = default;

  // Starts `choices` answers to one request, all of them or none; with a seed, each has the next
  // one. InvalidArgument or TooLong, with the numbers, for a request that could never run; Busy
  // when the queue is full; Unavailable after a device fault, or while its process is gone.
  // `on_event` is called on a thread of the engine's whenever one of them has something new to
  // read; it must be quick and never throw.
  virtual Result<std::vector<Generation>> Start(Request request, int choices,
                                                std::function<void()> on_event) = 0;
  Result<Generation> Start(Request request) {
    ASSIGN_OR_RETURN(std::vector<Generation> one, Start(std::move(request), 1, {}));
    return std::move(one.front());
  }

  virtual const ModelInfo& info() const = 0;
  virtual const CacheSettings& cache() const = 0;
  virtual Quote quote() const = 0;
  virtual EngineStatus status() const = 0;
};

}  // namespace tonnage
