// The models of a server and their runners, within one budget: the quotes of all that is loaded are
// summed here. A model that is wanted gets room by the unloading of others, the least recently used
// first, and never of one that is working. Models are added before any is wanted; everything else
// is safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/quote.h"
#include "base/result.h"
#include "server/supervisor/supervisor.h"

namespace tonnage {

struct FleetOptions {
  // What all runners together may hold, as of now: what they hold already is in it. Also told the
  // processes that run.
  std::function<Result<Available>(const std::vector<std::int64_t>& process_ids)> budget = {};
  SupervisorOptions supervisor =
      {};  // of each model, but for its own: name, launch, admit, changed
};

class Fleet {
 public:
  // What the model takes; Refused where it would not fit even alone.
  using Price = std::function<Result<Bytes>(const Available&)>;

  explicit Fleet(FleetOptions options) : options_(std::move(options)) {}
  ~Fleet();  // ends every runner
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // `engine` outlives the fleet.
  Supervisor& Add(std::string name, RemoteEngine& engine, Launcher launch, Price price);
  // Starts the threads.
  void Run();
  void RefuseWaiting(const Error& error);

 private:
  struct Member {
    Price price;
    Bytes admitted_bytes = 0;
    std::unique_ptr<Supervisor> supervisor;
  };

  Result<std::optional<Available>> Admit(std::size_t index);
  void WakeAll();

  const FleetOptions options_;
  std::mutex mutex_;  // guards what is admitted
  std::vector<Member> members_;
};

}  // namespace tonnage
