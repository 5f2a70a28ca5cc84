#include "server/supervisor/remote_engine.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "server/supervisor/remote_source.h"

namespace tonnage {
namespace {

// More than any server asks for at a time; the runner has limits of its own below.
constexpr int kMostChoices = 1 << 16;

}  // namespace

RemoteEngine::RemoteEngine(ModelInfo info, CacheSettings cache, Quote quote)
    : info_(std::move(info)),
      cache_(cache),
      quote_(quote),
      absence_(Unavailable("the model is not loaded")) {
  status_.free_slots = cache_.slots;
}

RemoteEngine::~RemoteEngine() { Detach(Unavailable("the engine was closed"), {}, false); }

// ---- Callers' threads ---------------------------------------------------------------------------

Result<std::vector<Generation>> RemoteEngine::Start(Request request, int choices,
                                                    std::function<void()> on_event) {
  if (choices < 1 || choices > kMostChoices) {
    return InvalidArgument("{} answers are asked for at a time, but 1 to {} may be", choices,
                           kMostChoices);
  }
  const std::uint64_t key = wire::KeyOf(request);
  const auto prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
  std::vector<Answer> answers;
  std::vector<Generation> generations;
  for (int choice = 0; choice < choices; ++choice) {
    auto source = std::make_shared<internal::RemoteSource>(prompt_tokens, on_event);
    answers.push_back({source, key});
    generations.emplace_back(std::move(source));
  }
  Opening opening;
  ASSIGN_OR_RETURN(const std::uint64_t id, Open({.choices = choices, .request = std::move(request)},
                                                std::move(answers), opening));
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return opening.answer.has_value(); });
  openings_.erase(id);
  RETURN_IF_ERROR(*opening.answer);
  return generations;
}

// Sends it, with everything in place for what may come back.
Result<std::uint64_t> RemoteEngine::Open(wire::Start start, std::vector<Answer> answers,
                                         Opening& opening) {
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(quarantine_.Check(answers.front().key));
  if (channel_ == nullptr) return absence_;
  start.id = next_id_;
  RETURN_IF_ERROR(channel_->Send(wire::Message(std::in_place_type<wire::Start>, std::move(start))));
  channel_->Wake();
  const std::uint64_t id = next_id_;
  openings_[id] = &opening;
  for (Answer& answer : answers) {
    answer.source->Connect(next_id_, channel_);
    answers_[next_id_++] = std::move(answer);
  }
  opening.end_id = next_id_;
  return id;
}

Quote RemoteEngine::quote() const {
  std::lock_guard lock(mutex_);
  return quote_;
}

EngineStatus RemoteEngine::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

bool RemoteEngine::working() const {
  std::lock_guard lock(mutex_);
  return !answers_.empty() || !openings_.empty();
}

// ---- The supervisor's thread --------------------------------------------------------------------

Status RemoteEngine::Attach(std::shared_ptr<Channel> channel, const wire::Ready& ready,
                            std::int64_t process_id) {
  if (ready.info.vocab != info_.vocab || ready.cache.context_tokens != cache_.context_tokens ||
      ready.cache.slots != cache_.slots) {
    return Internal(
        "the runner has loaded {} slots of {} tokens and {} entries of the vocabulary, not the "
        "{} of {} and {} that were planned: has the model's file changed?",
        ready.cache.slots, ready.cache.context_tokens, ready.info.vocab, cache_.slots,
        cache_.context_tokens, info_.vocab);
  }
  std::lock_guard lock(mutex_);
  channel_ = std::move(channel);
  quote_ = ready.quote;
  status_.health = {};
  status_.process_id = process_id;
  status_.retry_after = std::nullopt;
  status_.stepped_at = Clock::now();
  return {};
}

Status RemoteEngine::Take(wire::Message message) {
  if (auto* token = std::get_if<wire::Token>(&message)) return Deliver(std::move(*token));
  if (auto* done = std::get_if<wire::Done>(&message)) return Deliver(std::move(*done));
  if (const auto* started = std::get_if<wire::Started>(&message)) return Settle(started->id, {});
  if (const auto* refused = std::get_if<wire::Refused>(&message)) {
    return Settle(refused->id, refused->error);
  }
  if (auto* beat = std::get_if<wire::Beat>(&message)) {
    std::lock_guard lock(mutex_);
    // Its answers still get their ends, one by one, before the runner goes.
    if (status_.health.ok() && !beat->status.health.ok()) faulted_ = RunningKeys();
    // What only this side knows stays.
    beat->status.process_id = status_.process_id;
    beat->status.crashes = status_.crashes;
    status_ = std::move(beat->status);
    return {};
  }
  return Internal("a message of kind {} is not for a server that serves", message.index());
}

Status RemoteEngine::Settle(std::uint64_t id, Status answer) {
  {
    std::lock_guard lock(mutex_);
    const auto opening = openings_.find(id);
    if (opening == openings_.end() || opening->second->answer) {
      return Internal("an answer to a request {} that waits for none", id);
    }
    if (!answer.ok()) {
      answers_.erase(answers_.lower_bound(id), answers_.lower_bound(opening->second->end_id));
    }
    opening->second->answer = std::move(answer);
  }
  settled_.notify_all();
  return {};
}

Status RemoteEngine::Deliver(wire::Token token) {
  SourcePtr source;
  {
    std::lock_guard lock(mutex_);
    const auto answer = answers_.find(token.id);
    if (answer == answers_.end()) return Internal("a token of an answer {} that is none", token.id);
    source = answer->second.source;
  }
  source->Push(std::move(token));
  return {};
}

Status RemoteEngine::Deliver(wire::Done done) {
  SourcePtr source;
  {
    std::lock_guard lock(mutex_);
    const auto answer = answers_.find(done.id);
    if (answer == answers_.end()) return Internal("the end of an answer {} that is none", done.id);
    source = std::move(answer->second.source);
    if (done.event.reason != FinishReason::kError) quarantine_.Finished(answer->second.key);
    answers_.erase(answer);
  }
  source->End(std::move(done.event));
  return {};
}

// First come, first served: the oldest are those that have slots.
std::vector<std::uint64_t> RemoteEngine::RunningKeys() const {
  std::vector<std::uint64_t> keys;
  for (const auto& [id, answer] : answers_) {
    if (static_cast<std::int64_t>(keys.size()) == cache_.slots) break;
    keys.push_back(answer.key);
  }
  return keys;
}

void RemoteEngine::Detach(const Error& why, Status health, bool crashed) {
  std::vector<SourcePtr> ended;
  {
    std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> running = RunningKeys();
    running.insert(running.end(), faulted_.begin(), faulted_.end());
    faulted_.clear();
    for (auto& [id, answer] : answers_) ended.push_back(std::move(answer.source));
    answers_.clear();
    for (auto& [id, opening] : openings_) {
      if (!opening->answer) opening->answer = why;
    }
    if (crashed) quarantine_.Crashed(running);
    channel_ = nullptr;
    absence_ = why;
    status_ = {.free_slots = cache_.slots,
               .steps = status_.steps,
               .mean_run = status_.mean_run,
               .health = std::move(health),
               .crashes = status_.crashes + (crashed ? 1 : 0)};
  }
  settled_.notify_all();
  for (const SourcePtr& source : ended) source->Fail(why);
}

void RemoteEngine::SetRetry(std::optional<Clock::time_point> retry_after) {
  std::lock_guard lock(mutex_);
  status_.retry_after = retry_after;
}

}  // namespace tonnage
