#include "runner/serve_engine.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

namespace tonnage {
namespace {

// What may wait in the socket's buffer here; beyond it, events stay where they are.
constexpr std::size_t kMostUnsentBytes = 64 << 10;

// What the engine's threads wake the channel by. They may do so after the channel is gone: what was
// cancelled ends at the engine's next step.
class Bell {
 public:
  explicit Bell(Channel& channel) : channel_(&channel) {}
  void Ring() {
    std::lock_guard lock(mutex_);
    if (channel_ != nullptr) channel_->Wake();
  }
  void Silence() {
    std::lock_guard lock(mutex_);
    channel_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Channel* channel_;
};

// The answers to one request.
struct Group {
  std::uint64_t first_id = 0;
  std::vector<std::optional<Generation>> answers;  // nothing where the end has been sent
  std::shared_ptr<std::atomic<bool>> ready;        // one of them has something to read
};

class EngineServer {
 public:
  EngineServer(TokenEngine& engine, Channel& channel, std::chrono::milliseconds beat,
               const std::function<MemoryReport()>& memory)
      : engine_(engine),
        channel_(channel),
        bell_(std::make_shared<Bell>(channel)),
        beat_(beat),
        memory_(memory) {}
  ~EngineServer() { bell_->Silence(); }

  Status Run() {
    std::vector<wire::Message> received;
    for (;;) {
      Pump();
      if (Clock::now() >= beat_due_) Beat();
      received.clear();
      const Status exchanged = channel_.Exchange(received);
      for (wire::Message& message : received) RETURN_IF_ERROR(Handle(std::move(message)));
      if (!exchanged.ok()) {
        return exchanged.error().code() == Code::kUnavailable ? Status() : exchanged;
      }
      if (!health_.ok() && groups_.empty() && channel_.unsent_bytes() == 0) return health_;
      if (!received.empty()) continue;
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(beat_due_ - Clock::now());
      channel_.Wait(static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, beat_.count())));
    }
  }

 private:
  Status Handle(wire::Message message) {
    if (auto* start = std::get_if<wire::Start>(&message)) return Begin(std::move(*start));
    if (const auto* cancel = std::get_if<wire::Cancel>(&message)) {
      Cancel(cancel->id);
      return {};
    }
    return Internal("a message of kind {} is not for a runner", message.index());
  }

  Status Begin(wire::Start start) {
    auto ready = std::make_shared<std::atomic<bool>>(false);
    auto started = engine_.Start(std::move(start.request), start.choices, [ready, bell = bell_] {
      ready->store(true);
      bell->Ring();
    });
    Beat();  // it counts the new ones
    if (!started.ok()) return channel_.Send(wire::Refused{start.id, started.error()});
    Group group{.first_id = start.id, .answers = {}, .ready = std::move(ready)};
    for (Generation& generation : *started) group.answers.emplace_back(std::move(generation));
    groups_.push_back(std::move(group));
    return channel_.Send(wire::Started{start.id});
  }

  void Cancel(std::uint64_t id) {
    for (Group& group : groups_) {
      const std::uint64_t choice = id - group.first_id;  // huge where the id is less
      if (choice >= group.answers.size()) continue;
      if (auto& answer = group.answers[choice]) answer->Cancel();
    }
  }

  // Sends what can be read, as far as it is taken.
  void Pump() {
    for (auto group = groups_.begin(); group != groups_.end();) {
      if (group->ready->exchange(false) && !Send(*group)) group->ready->store(true);
      const bool over = std::none_of(group->answers.begin(), group->answers.end(),
                                     [](const auto& answer) { return answer.has_value(); });
      group = over ? groups_.erase(group) : std::next(group);
    }
  }

  // Whether all that was there has been sent.
  bool Send(Group& group) {
    for (std::size_t choice = 0; choice < group.answers.size(); ++choice) {
      auto& answer = group.answers[choice];
      const std::uint64_t id = group.first_id + choice;
      while (answer) {
        if (channel_.unsent_bytes() >= kMostUnsentBytes) return false;
        const std::optional<GenerationEvent> event = answer->TryNext();
        if (!event) break;
        if (const auto* token = std::get_if<TokenEvent>(&*event)) {
          Say(wire::Token{
              id, token->token, token->logprob, {token->top.begin(), token->top.end()}});
        } else {
          answer.reset();
          Beat();  // whoever hears of the end finds the slot free
          Say(wire::Done{id, std::get<DoneEvent>(*event)});
        }
      }
    }
    return true;
  }

  void Beat() {
    beat_due_ = Clock::now() + beat_;
    EngineStatus status = engine_.status();
    health_ = status.health;
    if (memory_) status.memory = memory_();
    // Nor do signs of life pile up for a server that does not read.
    if (channel_.unsent_bytes() < kMostUnsentBytes) Say(wire::Beat{std::move(status)});
  }

  // None of these is ever too long.
  void Say(const wire::Message& message) { (void)channel_.Send(message).ok(); }

  TokenEngine& engine_;
  Channel& channel_;
  const std::shared_ptr<Bell> bell_;
  const std::chrono::milliseconds beat_;
  const std::function<MemoryReport()>& memory_;
  Clock::time_point beat_due_ = Clock::now();
  std::list<Group> groups_;
  Status health_;  // the engine's, when last asked
};

}  // namespace

Bytes ChannelBytes(std::int64_t context_tokens) {
  // A prompt as it came and as it was understood, and what is on its way out.
  return 2 * context_tokens * static_cast<Bytes>(sizeof(std::int32_t)) +
         static_cast<Bytes>(kMostUnsentBytes) + 64 * kKiB;
}

Status ServeEngine(TokenEngine& engine, Channel& channel, std::chrono::milliseconds beat,
                   const std::function<MemoryReport()>& memory) {
  return EngineServer(engine, channel, beat, memory).Run();
}

void Flush(Channel& channel, std::chrono::milliseconds most) {
  const auto until = Clock::now() + most;
  std::vector<wire::Message> ignored;
  while (channel.Exchange(ignored).ok() && channel.unsent_bytes() > 0 && Clock::now() < until) {
    channel.Wait(10);
  }
}

}  // namespace tonnage
