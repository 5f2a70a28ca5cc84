// Keeps one model's runner: starts it when the model is wanted, watches it, ends what stalls, tells
// its requests why when it dies, and starts it again by itself, with a pause that grows. Has one
// thread, which starts the process, reads what it says and outlives it. Every method is safe from
// any thread; callbacks come on the supervisor's thread, or from within Load.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runner/channel.h"
#include "server/supervisor/backoff.h"
#include "server/supervisor/remote_engine.h"
#include "server/supervisor/runner_process.h"

namespace tonnage {

struct SupervisorOptions {
  std::string name = {};  // of the model, in messages
  // A runner that says nothing, or has work and neither steps nor computes, for so long has
  // stalled. One that computes has ten times as long for a step.
  std::chrono::milliseconds heartbeat{60'000};
  std::optional<std::chrono::milliseconds> keep_alive = std::nullopt;  // none: for ever
  std::size_t most_waiting = 256;  // requests that may wait for a load
  Launcher launch = {};
  // What a runner may hold; nothing while room is being made; or why it may not start now.
  std::function<Result<std::optional<Available>>()> admit = {};
  std::function<void()> changed = {};  // a runner went or became idle: there may be room
  std::function<void(std::string_view)> log = {};
  std::function<Clock::time_point()> now = [] { return Clock::now(); };
};

enum class RunnerState {
  kAbsent,   // not loaded: nobody has wanted it, it was unloaded, or it failed
  kWaiting,  // to be started: when there is room, or after a pause
  kLoading,
  kReady,
  kEnding,  // it stalled or is unloaded, and is not gone yet
};

struct SupervisorStatus {
  RunnerState state = RunnerState::kAbsent;
  std::int64_t process_id = 0;
  Bytes held_bytes = 0;            // by the quote of what runs
  Clock::time_point used_at = {};  // when it last worked or was wanted
  bool working = false;            // somebody uses it, or waits for it
  std::string doing = {};          // while it loads
};

class Supervisor {
 public:
  // While somebody holds one, the model is not unloaded.
  using Use = std::shared_ptr<const void>;
  using Ready = std::function<void(Result<Use>)>;

  // `engine` outlives it.
  Supervisor(SupervisorOptions options, RemoteEngine& engine);
  // As Stop; ends every answer, and every wait for a load.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts the thread; until then, and in tests without it, Tick does all that is to be done.
  void Run();
  // Ends the thread and the runner. What calls it later is refused.
  void Stop();

  // Calls `ready` once: at once where the model is loaded or cannot be for now, else when its load
  // has ended.
  void Load(Ready ready);
  // Ends an idle runner, whose memory is then to be had; nothing when it is not idle.
  void Unload();
  // Something that admit goes by has changed.
  void Wake();
  // Ends every wait for a load.
  void RefuseWaiting(const Error& error);

  SupervisorStatus status() const;
  const std::string& name() const { return options_.name; }

  // Does what there is to do, without waiting; answers when there will be more, unless something
  // comes before. On one thread at a time.
  Clock::time_point Tick();

 private:
  void Work();
  void WaitUntil(Clock::time_point until);

  void MaybeLaunch(Clock::time_point now);
  void Launch(const Available& share, Clock::time_point now);
  void Receive(Clock::time_point now);
  Status Handle(wire::Message message, Clock::time_point now);
  void OnReady(Clock::time_point now);
  void Watch(Clock::time_point now);
  void SampleCpu(Clock::time_point now);
  bool Stalled(Clock::time_point now) const;
  // The runner is gone.
  void Ended(const ExitCause& cause, Clock::time_point now);
  bool Working() const;  // under mutex_
  void EndUnloaded();    // under mutex_
  Error WhyItEnded(const ExitCause& cause) const;
  void FailedToLoad(const Error& error, std::chrono::seconds pause, Clock::time_point now);
  // It is to be ended at `at` unless it has by then.
  void KillAt(Clock::time_point at);

  void SetState(RunnerState state);
  std::vector<Ready> TakeWaiting();
  void Log(std::string_view line) const;

  const SupervisorOptions options_;
  RemoteEngine& engine_;

  // Of the supervisor's thread.
  std::unique_ptr<RunnerProcess> process_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Error> load_error_;  // as the runner said it
  std::optional<Error> fault_;       // why it is being killed
  Clock::time_point heard_at_ = {};
  Clock::time_point computed_at_ = {};  // when it was last seen to use its processors
  Clock::time_point sampled_at_ = {};
  std::chrono::nanoseconds cpu_time_{};  // then
  Clock::time_point ready_at_ = {};
  wire::Progress progress_;
  Backoff backoff_;
  bool unloading_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable woken_;
  std::shared_ptr<Channel> channel_;  // written by the supervisor's thread
  RunnerState state_ = RunnerState::kAbsent;
  bool wake_ = false;
  bool stopping_ = false;
  bool wanted_ = false;
  bool unload_ = false;
  std::optional<Clock::time_point> retry_at_;
  std::optional<Error> last_failure_;  // why there is a pause
  std::int64_t process_id_ = 0;
  Bytes held_bytes_ = 0;
  Clock::time_point used_at_ = {};
  std::string doing_;
  std::vector<Ready> waiting_;
  const Use use_ = std::make_shared<int>();  // handed out, and counted

  std::thread thread_;
};

}  // namespace tonnage
