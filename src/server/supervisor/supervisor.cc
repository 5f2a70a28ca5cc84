#include "server/supervisor/supervisor.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/exhaustion.h"

namespace tonnage {
namespace {

using std::chrono::milliseconds;

// How long stacks take to be written before a stalled runner is killed.
constexpr milliseconds kStackTime{300};
// How long a runner whose socket is closed may take to end by itself.
constexpr milliseconds kEndTime{2'000};
// How often in a heartbeat it is seen whether a runner computes, and what share of a processor's
// time is no computing.
constexpr int kSamples = 8;
constexpr int kIdleShare = 20;
// A slice of a prompt in a large model on few cores takes minutes; more heartbeats than this,
// never.
constexpr int kLongestStep = 10;
// How often it is asked whether there is room, where nobody says so.
constexpr milliseconds kRoomTime{100};
// After so long a life, a crash has nothing to do with those before.
constexpr std::chrono::minutes kLongLife{1};
constexpr milliseconds kIdleTime{60'000};
// Of a runner's log, what its clients are shown.
constexpr std::size_t kTailBytes = 300;

std::int64_t SecondsUntil(Clock::time_point at, Clock::time_point now) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(at - now).count());
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, RemoteEngine& engine)
    : options_(std::move(options)), engine_(engine) {}

Supervisor::~Supervisor() {
  Stop();
  process_.reset();
  const Error closing = Unavailable("the server is closing");
  engine_.Detach(closing, closing, false);
  RefuseWaiting(closing);
}

void Supervisor::Run() {
  thread_ = std::thread([this] { Work(); });
}

void Supervisor::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
}

// ---- Any thread ---------------------------------------------------------------------------------

void Supervisor::Load(Ready ready) {
  const Clock::time_point now = options_.now();
  const Result<Use> answer = [&]() -> Result<Use> {
    std::lock_guard lock(mutex_);
    used_at_ = now;
    if (state_ == RunnerState::kReady) return use_;
    if (stopping_) return Unavailable("the server is closing");
    if (retry_at_ && now < *retry_at_) {
      return Error(last_failure_->code(),
                   fmt::format("{}. It is tried again in {} s", last_failure_->message(),
                               SecondsUntil(*retry_at_, now)));
    }
    if (waiting_.size() >= options_.most_waiting) {
      return Busy("{} requests wait for the model `{}` to be loaded: send it again later",
                  waiting_.size(), options_.name);
    }
    wanted_ = true;
    waiting_.push_back(std::exchange(ready, nullptr));
    return Use();
  }();
  if (ready) return ready(answer);
  Wake();
}

void Supervisor::Unload() {
  {
    std::lock_guard lock(mutex_);
    unload_ = true;
  }
  Wake();
}

void Supervisor::Wake() {
  {
    std::lock_guard lock(mutex_);
    wake_ = true;
    if (channel_ != nullptr) channel_->Wake();
  }
  woken_.notify_one();
}

void Supervisor::RefuseWaiting(const Error& error) {
  for (Ready& ready : TakeWaiting()) ready(error);
}

SupervisorStatus Supervisor::status() const {
  std::lock_guard lock(mutex_);
  return {.state = state_,
          .process_id = process_id_,
          .held_bytes = held_bytes_,
          .used_at = used_at_,
          .working = Working(),
          .doing = doing_};
}

// ---- The supervisor's thread --------------------------------------------------------------------

void Supervisor::Work() {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    WaitUntil(Tick());
  }
  if (process_ == nullptr) return;
  {
    std::lock_guard lock(mutex_);
    channel_ = nullptr;
  }
  engine_.Detach(Unavailable("the server is closing"), {}, false);  // lets go of the channel too
  pollfd exit{.fd = process_->exit_fd(), .events = POLLIN, .revents = 0};
  poll(&exit, 1, static_cast<int>(kEndTime.count()));
  process_.reset();
}

void Supervisor::WaitUntil(Clock::time_point until) {
  // One more, so that what is due is not missed by a part of a millisecond.
  const auto left = std::chrono::duration_cast<milliseconds>(until - options_.now()).count() + 1;
  const int timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, kIdleTime.count()));
  std::unique_lock lock(mutex_);
  if (channel_ != nullptr && !fault_ && !kill_at_) {
    const std::shared_ptr<Channel> channel = channel_;
    wake_ = false;
    lock.unlock();
    return channel->Wait(timeout_ms, process_->exit_fd());
  }
  if (process_ != nullptr) {
    lock.unlock();
    pollfd exit{.fd = process_->exit_fd(), .events = POLLIN, .revents = 0};
    poll(&exit, 1, timeout_ms);
    return;
  }
  woken_.wait_for(lock, milliseconds(timeout_ms), [&] { return wake_ || stopping_; });
  wake_ = false;
}

Clock::time_point Supervisor::Tick() {
  const Clock::time_point now = options_.now();
  if (process_ != nullptr) {
    Receive(now);
    if (const auto cause = process_->Exited()) {
      Receive(now);  // what it said until then
      Ended(*cause, now);
    } else {
      Watch(now);
    }
  }
  if (process_ == nullptr) MaybeLaunch(now);
  std::lock_guard lock(mutex_);
  if (process_ != nullptr) return kill_at_ ? *kill_at_ : now + options_.heartbeat / kSamples;
  if (!wanted_) return now + kIdleTime;
  return retry_at_ && now < *retry_at_ ? *retry_at_ : now + kRoomTime;
}

void Supervisor::MaybeLaunch(Clock::time_point now) {
  {
    std::lock_guard lock(mutex_);
    unload_ = false;
    if (!wanted_ || (retry_at_ && now < *retry_at_)) return;
    state_ = RunnerState::kWaiting;
  }
  auto room = options_.admit();
  // That passes when others have done their work: it counts for nothing.
  if (!room.ok()) return FailedToLoad(room.error(), Backoff::kFirst, now);
  if (*room) Launch(**room, now);
}

void Supervisor::Launch(const Available& share, Clock::time_point now) {
  auto launched = OrExhausted([&] { return options_.launch(share); });
  if (!launched.ok()) return FailedToLoad(launched.error(), backoff_.Failed(true), now);
  process_ = std::move(launched->process);
  heard_at_ = sampled_at_ = now;
  computed_at_ = {};
  cpu_time_ = {};
  kill_at_.reset();
  load_error_.reset();
  fault_.reset();
  unloading_ = false;
  progress_ = {};
  {
    std::lock_guard lock(mutex_);
    channel_ = std::make_shared<Channel>(launched->socket);
    process_id_ = process_->id();
    state_ = RunnerState::kLoading;
    doing_ = "starting";
    retry_at_.reset();
  }
  Log(fmt::format("{}: runner {} starts", options_.name, process_->id()));
}

void Supervisor::Receive(Clock::time_point now) {
  if (fault_ || unloading_) return;
  std::vector<wire::Message> received;
  const Status exchanged = channel_->Exchange(received);
  if (!received.empty()) heard_at_ = now;
  Status handled;
  for (wire::Message& message : received) {
    handled = Handle(std::move(message), now);
    if (!handled.ok()) break;
  }
  if (!handled.ok() || (!exchanged.ok() && exchanged.error().code() == Code::kInternal)) {
    const Error& error = handled.ok() ? exchanged.error() : handled.error();
    fault_ = Internal("made no sense: {}", error.message());
    Log(fmt::format("{}: runner {} {}", options_.name, process_->id(), fault_->message()));
    process_->Kill();
  } else if (!exchanged.ok()) {
    KillAt(now + kEndTime);  // it has closed its socket, so it is about to end
  }
}

Status Supervisor::Handle(wire::Message message, Clock::time_point now) {
  const bool loading = state_ == RunnerState::kLoading;
  if (auto* failed = std::get_if<wire::Failed>(&message); failed != nullptr && loading) {
    load_error_ = std::move(failed->error);
    return {};
  }
  if (const auto* planned = std::get_if<wire::Planned>(&message); planned != nullptr && loading) {
    Log(fmt::format("[memory: {} quoted, {} by {}]", FormatBytes(planned->quote.Total()),
                    FormatBytes(planned->available.bytes), planned->available.source));
    std::lock_guard lock(mutex_);
    held_bytes_ = planned->quote.Total();
    return {};
  }
  if (auto* progress = std::get_if<wire::Progress>(&message); progress != nullptr && loading) {
    std::lock_guard lock(mutex_);
    doing_ =
        fmt::format("loading, {} of {}", FormatBytes(progress->done), FormatBytes(progress->total));
    progress_ = std::move(*progress);
    return {};
  }
  if (const auto* ready = std::get_if<wire::Ready>(&message); ready != nullptr && loading) {
    RETURN_IF_ERROR(engine_.Attach(channel_, *ready, process_->id()));
    OnReady(now);
    return {};
  }
  if (loading) return Internal("a message of kind {} while loading", message.index());
  const auto* done = std::get_if<wire::Done>(&message);
  if (done != nullptr && done->event.reason != FinishReason::kError) backoff_.Succeeded();
  return engine_.Take(std::move(message));
}

void Supervisor::OnReady(Clock::time_point now) {
  ready_at_ = now;
  {
    std::lock_guard lock(mutex_);
    state_ = RunnerState::kReady;
    doing_.clear();
    last_failure_.reset();
    used_at_ = std::max(used_at_, now);
  }
  Log(fmt::format("{}: runner {} is ready", options_.name, process_->id()));
  for (Ready& ready : TakeWaiting()) ready(use_);
}

void Supervisor::SampleCpu(Clock::time_point now) {
  if (now - sampled_at_ < options_.heartbeat / kSamples) return;
  const std::chrono::nanoseconds used = process_->CpuTime();
  if (used - cpu_time_ > (now - sampled_at_) / kIdleShare) computed_at_ = now;
  sampled_at_ = now;
  cpu_time_ = used;
}

bool Supervisor::Stalled(Clock::time_point now) const {
  if (state_ != RunnerState::kReady) {  // a load has one thread for everything
    return now - std::max(heard_at_, computed_at_) > options_.heartbeat;
  }
  if (now - heard_at_ > options_.heartbeat) return true;
  const EngineStatus status = engine_.status();
  if (status.running + status.waiting == 0) return false;
  return now - std::max(status.stepped_at, computed_at_) > options_.heartbeat ||
         now - status.stepped_at > kLongestStep * options_.heartbeat;
}

void Supervisor::Watch(Clock::time_point now) {
  if (kill_at_ && now >= *kill_at_) {
    process_->Kill();
    kill_at_ = now + kEndTime;
    return;
  }
  if (kill_at_ || fault_) return;
  SampleCpu(now);
  if (Stalled(now)) {
    const auto silent = std::chrono::duration<double>(options_.heartbeat).count();
    fault_ = state_ == RunnerState::kLoading
                 ? Unavailable("stalled while loading: nothing for {} s, at {} of {}, {}", silent,
                               FormatBytes(progress_.done), FormatBytes(progress_.total),
                               progress_.weight.empty() ? "no weight" : progress_.weight)
                 : Unavailable("stalled: no step for {} s", silent);
    Log(fmt::format("{}: runner {} {}", options_.name, process_->id(), fault_->message()));
    const bool written = process_->DumpStacks();
    SetState(RunnerState::kEnding);
    if (written) process_->Kill();
    return KillAt(now + (written ? kEndTime : kStackTime));
  }
  if (state_ != RunnerState::kReady) return;
  {
    std::lock_guard lock(mutex_);
    const bool asked = std::exchange(unload_, false);
    if (Working()) used_at_ = now;
    const bool old = options_.keep_alive && now - used_at_ >= *options_.keep_alive;
    if (Working() || (!asked && !old)) return;
    EndUnloaded();
  }
  kill_at_ = now + kEndTime;
  Log(fmt::format("{}: unloaded", options_.name));
}

bool Supervisor::Working() const {
  return use_.use_count() > 1 || !waiting_.empty() || engine_.working();
}

void Supervisor::EndUnloaded() {
  state_ = RunnerState::kEnding;
  wanted_ = false;
  unloading_ = true;
  channel_ = nullptr;
  engine_.Detach(Unavailable("the model was unloaded: send the request again"), {}, false);
}

void Supervisor::Ended(const ExitCause& cause, Clock::time_point now) {
  const Error why = WhyItEnded(cause);
  const RunnerState was = std::exchange(unloading_, false)  ? RunnerState::kAbsent
                          : ready_at_ > Clock::time_point() ? RunnerState::kReady
                                                            : RunnerState::kLoading;
  const bool long_life = ready_at_ > Clock::time_point() && now - ready_at_ > kLongLife;
  Log(fmt::format("{}: runner {} has ended ({})", options_.name, process_->id(), cause.Describe()));
  process_.reset();
  kill_at_.reset();
  fault_.reset();
  ready_at_ = {};
  {
    std::lock_guard lock(mutex_);
    channel_ = nullptr;
    process_id_ = 0;
    held_bytes_ = 0;
    doing_.clear();
    state_ = wanted_ ? RunnerState::kWaiting : RunnerState::kAbsent;
  }
  if (was == RunnerState::kReady) {
    if (long_life) backoff_.Succeeded();
    const auto pause = backoff_.Failed(false);
    engine_.Detach(why, why, true);
    engine_.SetRetry(now + pause);
    {
      std::lock_guard lock(mutex_);
      retry_at_ = now + pause;
      last_failure_ = why;
      wanted_ = !backoff_.gives_up();
      state_ = wanted_ ? RunnerState::kWaiting : RunnerState::kAbsent;
    }
    if (pause.count() > 0) RefuseWaiting(why);
  } else if (was == RunnerState::kLoading) {
    FailedToLoad(why, backoff_.Failed(true), now);
  }
  if (options_.changed) options_.changed();
}

Error Supervisor::WhyItEnded(const ExitCause& cause) const {
  if (load_error_) return *load_error_;
  const bool loading = ready_at_ == Clock::time_point();
  const std::string what =
      fault_ ? fault_->message()
             : fmt::format("died{}: {}", loading ? " while loading" : "", cause.Describe());
  const std::string tail = process_->LogTail(kTailBytes);
  return Unavailable("the runner of `{}` {}{}.{}{}", options_.name, what,
                     loading ? "" : "; what was running can be sent again",
                     tail.empty() ? "" : " The last that it printed: ", tail);
}

// Whoever waited hears of it. It is tried again after the pause: by itself if it has served before.
void Supervisor::FailedToLoad(const Error& error, std::chrono::seconds pause,
                              Clock::time_point now) {
  const bool serves_again = engine_.status().crashes > 0 && !backoff_.gives_up();
  Log(fmt::format("{}: not loaded, to be tried again in {} s: {}", options_.name, pause.count(),
                  error.message()));
  engine_.Detach(error, error, false);
  engine_.SetRetry(now + pause);
  {
    std::lock_guard lock(mutex_);
    retry_at_ = now + pause;
    last_failure_ = error;
    wanted_ = serves_again;
    state_ = wanted_ ? RunnerState::kWaiting : RunnerState::kAbsent;
  }
  RefuseWaiting(error);
}

void Supervisor::KillAt(Clock::time_point at) {
  if (!kill_at_) kill_at_ = at;
}

void Supervisor::SetState(RunnerState state) {
  std::lock_guard lock(mutex_);
  state_ = state;
}

std::vector<Supervisor::Ready> Supervisor::TakeWaiting() {
  std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

void Supervisor::Log(std::string_view line) const {
  if (options_.log) options_.log(line);
}

}  // namespace tonnage
