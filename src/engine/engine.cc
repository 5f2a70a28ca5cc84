#include "engine/engine.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/exhaustion.h"
#include "engine/sequence.h"

namespace tonnage {

Engine::Engine(LoadedModel model)
    : model_(std::move(model)),
      scheduler_limits_{model_.step, model_.cache.max_slice_rows},
      pages_(model_.cache.slots, model_.cache.context_tokens),
      request_memory_(std::make_shared<Budget>(
          model_.cache.slots * LargestRequestBytes(model_.cache.context_tokens), INT64_MAX,
          "the engine")),
      scratch_(model_.info.vocab) {
  CHECK_GT(model_.step.rows, model_.cache.slots);
  CHECK_GE(model_.step.logit_rows, model_.cache.slots);
  const auto slots = static_cast<size_t>(model_.cache.slots);
  const auto rows = static_cast<size_t>(model_.step.rows);
  running_.reserve(slots);
  states_.reserve(slots);
  slices_.reserve(slots);
  tokens_.reserve(rows);
  positions_.reserve(rows);
  slots_.reserve(rows);
  logit_rows_.reserve(static_cast<size_t>(model_.step.logit_rows));
  status_.free_slots = pages_.free_slots();
  status_.pages = status_.free_pages = pages_.free_pages();
  thread_ = std::thread([this] { Run(); });
}

Engine::~Engine() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

// ---- Callers' threads ---------------------------------------------------------------------------

Status Engine::CheckTokens(std::span<const std::int32_t> tokens) const {
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count == 0) return InvalidArgument("the prompt is empty: at least one token is needed");
  if (count > model_.cache.context_tokens) {
    return TooLong("the prompt has {} tokens, but the context is {}", FormatThousands(count),
                   FormatThousands(model_.cache.context_tokens));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= model_.info.vocab) {
      return InvalidArgument("token {} of the prompt is {}, but the vocabulary has tokens 0 to {}",
                             i, tokens[i], model_.info.vocab - 1);
    }
  }
  return {};
}

Status Engine::Complete(Request& request) const {
  RETURN_IF_ERROR(CheckTokens(request.prompt));
  RETURN_IF_ERROR(ValidateSampling(request.sampling, model_.info.vocab));
  const auto prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t room = model_.cache.context_tokens - prompt_tokens;
  if (!request.max_tokens && room == 0) {
    return TooLong("the prompt's {} tokens fill the context of {}: no room for an answer",
                   FormatThousands(prompt_tokens), FormatThousands(model_.cache.context_tokens));
  }
  const std::int64_t max_tokens = request.max_tokens.value_or(room);
  if (max_tokens < 1) {
    return InvalidArgument("max_tokens is {}, but must be 1 or more", max_tokens);
  }
  if (max_tokens > room) {
    return TooLong("max_tokens {} + prompt {} tokens exceed the context of {} by {}",
                   FormatThousands(max_tokens), FormatThousands(prompt_tokens),
                   FormatThousands(model_.cache.context_tokens),
                   FormatThousands(max_tokens - room));
  }
  if (request.logprobs && (*request.logprobs < 0 || *request.logprobs > kMaxTopLogprobs)) {
    return InvalidArgument("logprobs is {}, but must be from 0 to {}", *request.logprobs,
                           kMaxTopLogprobs);
  }
  request.max_tokens = max_tokens;
  return {};
}

Status Engine::Enqueue(std::span<const SequencePtr> sequences) {
  {
    std::lock_guard lock(mutex_);
    if (!status_.health.ok()) return status_.health.error();
    if (refusing_) return *refusing_;
    // Requests that free slots await are no burden on the queue.
    std::int64_t awaited = status_.free_slots, beyond = 0, tokens = 0;
    const auto weigh = [&](const SequencePtr& sequence) {
      if (awaited-- > 0) return;
      ++beyond;
      tokens += sequence->prompt_tokens();
    };
    for (const SequencePtr& sequence : waiting_) weigh(sequence);
    for (const SequencePtr& sequence : sequences) weigh(sequence);
    if (beyond > 0 && (beyond > model_.queue.requests || tokens > model_.queue.tokens)) {
      return Busy("the queue is full: {} requests with {} tokens wait, and {} and {} may",
                  status_.waiting, FormatThousands(status_.waiting_tokens), model_.queue.requests,
                  FormatThousands(model_.queue.tokens));
    }
    if (status_.running + status_.waiting == 0) status_.stepped_at = Clock::now();
    const auto count = static_cast<std::int64_t>(sequences.size());
    status_.waiting += count;
    status_.waiting_tokens += count * sequences.front()->prompt_tokens();
    waiting_.insert(waiting_.end(), sequences.begin(), sequences.end());
  }
  work_.notify_one();
  return {};
}

Result<std::vector<Generation>> Engine::Start(Request request, int choices,
                                              std::function<void()> on_event) {
  const std::int64_t most_choices = std::max(model_.queue.requests, model_.cache.slots);
  if (choices < 1 || choices > most_choices) {
    return InvalidArgument("{} answers are asked for at a time, but 1 to {} may be", choices,
                           most_choices);
  }
  RETURN_IF_ERROR(Complete(request));
  return OrExhausted([&]() -> Result<std::vector<Generation>> {
    std::vector<SequencePtr> sequences;
    std::vector<Generation> generations;
    for (int choice = 0; choice < choices; ++choice) {
      Request own = request;
      if (own.sampling.seed) *own.sampling.seed += static_cast<std::uint64_t>(choice);
      const std::uint64_t fresh_seed =
          own.sampling.seed
              ? 0
              : (std::uint64_t{std::random_device()()} << 32) ^ std::random_device()();
      sequences.push_back(
          std::make_shared<internal::Sequence>(std::move(own), fresh_seed, on_event));
      generations.emplace_back(sequences.back());
    }
    RETURN_IF_ERROR(Enqueue(sequences));
    return generations;
  });
}

Result<std::vector<float>> Engine::Evaluate(std::vector<std::int32_t> ids) {
  RETURN_IF_ERROR(CheckTokens(ids));
  ASSIGN_OR_RETURN(const SequencePtr sequence, OrExhausted([&]() -> Result<SequencePtr> {
                     return std::make_shared<internal::Sequence>(std::move(ids), model_.info.vocab);
                   }));
  RETURN_IF_ERROR(Enqueue({&sequence, 1}));
  const GenerationEvent end = sequence->Next();
  if (const auto& error = std::get<DoneEvent>(end).error) return *error;
  return sequence->TakeLogits();
}

void Engine::RefuseNew(std::optional<Error> why) {
  std::lock_guard lock(mutex_);
  refusing_ = std::move(why);
}

EngineStatus Engine::status() const {
  EngineStatus status;
  {
    std::lock_guard lock(mutex_);
    status = status_;
  }
  const Ledger& ledger = model_.backend->ledger();
  for (int owner = 0; owner < kOwnerCount; ++owner) {
    status.memory.by_owner[static_cast<size_t>(owner)] = ledger.Of(static_cast<Owner>(owner));
  }
  status.memory.held_bytes = ledger.Total();
  status.memory.peak_bytes = ledger.Peak();
  return status;
}

// ---- The stepping thread ------------------------------------------------------------------------

void Engine::Run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      AdmitWaiting(Clock::now());
      if (stopping_) break;
      if (running_.empty()) {
        if (waiting_.empty()) {
          work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        } else {  // the memory that it needs is held by answers that nobody has read yet
          work_.wait_for(lock, std::chrono::milliseconds(5));
        }
        continue;
      }
    }
    Step();
    RetireEnded();
  }
  FailAll(Unavailable("the engine was closed"));
  RetireEnded();
}

// First come, first served: the first that finds no room holds up those behind it, so that a long
// request is not overtaken for ever.
void Engine::AdmitWaiting(Clock::time_point now) {
  std::erase_if(waiting_, [&](const SequencePtr& sequence) {
    sequence->EndIfDue(now);
    if (sequence->ended()) {
      status_.waiting_tokens -= sequence->prompt_tokens();
      sequence->PublishEnd(now);
    }
    return sequence->ended();
  });
  while (!waiting_.empty()) {
    internal::Sequence& next = *waiting_.front();
    auto reservation = pages_.Reserve(next.most_tokens());
    if (!reservation) break;
    auto memory = request_memory_->Reserve(next.running_bytes());
    if (!memory.ok()) break;
    const Status begun = OrExhausted([&]() -> Status {
      next.Begin(std::move(*reservation), request_memory_, std::move(*memory), now);
      return {};
    });
    if (!begun.ok()) next.Fail(begun.error());
    status_.waiting_tokens -= next.prompt_tokens();
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  status_.waiting = static_cast<std::int64_t>(waiting_.size());
  status_.running = static_cast<std::int64_t>(running_.size());
  status_.free_slots = pages_.free_slots();
  status_.free_pages = pages_.free_pages();
  status_.stepped_at = now;
}

void Engine::Step() {
  const Clock::time_point begin = Clock::now();
  for (const SequencePtr& sequence : running_) sequence->EndIfDue(begin);
  // What has been cancelled gets no more rows.
  states_.clear();
  for (const SequencePtr& sequence : running_) {
    states_.push_back(sequence->ended() ? SequenceState{} : sequence->state());
  }
  PlanStep(states_, scheduler_limits_, slices_);
  if (slices_.empty()) return;
  FillInputs();
  if (const Status status = Compute(); !status.ok()) {
    return FailAll(Unavailable("the device failed: {}", status.error().message()));
  }
  Deliver(Clock::now());
  std::lock_guard lock(mutex_);
  ++status_.steps;
}

void Engine::FillInputs() {
  tokens_.clear();
  positions_.clear();
  slots_.clear();
  logit_rows_.clear();
  decode_rows_ = 0;
  for (const Slice& slice : slices_) {
    const internal::Sequence& sequence = *running_[static_cast<size_t>(slice.sequence)];
    const auto tokens = sequence.Tokens(slice.first, slice.rows);
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    decode_rows_ += slice.decodes ? slice.rows : 0;
    for (std::int64_t row = 0; row < slice.rows; ++row) {
      positions_.push_back(static_cast<std::int32_t>(slice.first + row));
      slots_.push_back(sequence.slot());
      if (row >= slice.rows - slice.logit_rows) {
        logit_rows_.push_back(static_cast<std::int32_t>(tokens_.size()) -
                              static_cast<std::int32_t>(slice.rows - row));
      }
    }
  }
}

Status Engine::Compute() {
  mark_.rows.store(static_cast<std::int64_t>(tokens_.size()));
  mark_.requests.store(static_cast<std::int64_t>(slices_.size()));
  mark_.step.fetch_add(1);
  mark_.computing.store(true);
  const Status computed = Submit();
  mark_.computing.store(false);
  return computed;
}

Status Engine::Submit() {
  ASSIGN_OR_RETURN(const Event event,
                   model_.backend->Submit(*model_.program, {.tokens = tokens_,
                                                            .positions = positions_,
                                                            .slots = slots_,
                                                            .logit_rows = logit_rows_,
                                                            .decode_rows = decode_rows_,
                                                            .page_table = pages_.table()}));
  return model_.backend->Wait(event);
}

void Engine::Deliver(Clock::time_point now) {
  const auto vocab = static_cast<size_t>(model_.info.vocab);
  std::span<const float> logits = model_.program->logits();
  for (const Slice& slice : slices_) {
    const size_t size = static_cast<size_t>(slice.logit_rows) * vocab;
    running_[static_cast<size_t>(slice.sequence)]->Advance(slice.rows, logits.first(size), scratch_,
                                                           now);
    logits = logits.subspan(size);
  }
}

// Slots and pages come back, then the status says so, and only then does the caller hear of the
// end.
void Engine::RetireEnded() {
  const Clock::time_point now = Clock::now();
  std::int64_t still_running = 0;
  for (const SequencePtr& sequence : running_) {
    if (sequence->ended()) {
      sequence->Release();
      const Clock::duration run = now - sequence->begun_at();
      mean_run_ = mean_run_.count() == 0 ? run : mean_run_ + (run - mean_run_) / 8;
    } else {
      ++still_running;
    }
  }
  {
    std::lock_guard lock(mutex_);
    status_.running = still_running;
    status_.free_slots = pages_.free_slots();
    status_.free_pages = pages_.free_pages();
    status_.mean_run = mean_run_;
  }
  std::erase_if(running_, [now](const SequencePtr& sequence) {
    if (sequence->ended()) sequence->PublishEnd(now);
    return sequence->ended();
  });
}

void Engine::FailAll(const Error& error) {
  for (const SequencePtr& sequence : running_) sequence->Fail(error);
  {
    std::lock_guard lock(mutex_);
    status_.health = error;
    for (const SequencePtr& sequence : waiting_) {
      sequence->Fail(error);
      sequence->PublishEnd(Clock::now());
    }
    waiting_.clear();
    status_.waiting = status_.waiting_tokens = 0;
  }
}

}  // namespace tonnage
