#include "service/text_work.h"

#include <exception>
#include <utility>

namespace tonnage::internal {
namespace {

// A value of parsed JSON beside its text: its own size and its place in its parent.
constexpr Bytes kJsonValueBytes = 64;

Bytes JsonBytes(const Json& value) {
  Bytes bytes = kJsonValueBytes;
  if (value.is_string()) bytes += static_cast<Bytes>(value.get_ref<const std::string&>().size());
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      bytes += static_cast<Bytes>(key.size()) + JsonBytes(member);
    }
  } else if (value.is_array()) {
    for (const Json& item : value) bytes += JsonBytes(item);
  }
  return bytes;
}

}  // namespace

Bytes RequestBytes(const TextRequest& request) {
  Bytes bytes = sizeof(TextRequest) + JsonBytes(request.messages) +
                JsonBytes(request.template_variables) + static_cast<Bytes>(request.prompt.size());
  if (request.prompt_ids) bytes += static_cast<Bytes>(request.prompt_ids->size() * sizeof(TokenId));
  bytes += static_cast<Bytes>(request.sampling.logit_bias.size() * sizeof(LogitBias));
  for (const std::string& stop : request.stop) bytes += static_cast<Bytes>(stop.size());
  return bytes;
}

TextWork::TextWork(std::shared_ptr<WorkQueue> queue, std::shared_ptr<const TextEngine> engine,
                   TextRequest request, int choices, std::shared_ptr<TextListener> listener,
                   std::shared_ptr<TextObserver> observer)
    : queue_(std::move(queue)),
      engine_(std::move(engine)),
      listener_(std::move(listener)),
      observer_(std::move(observer)),
      choices_(choices),
      bytes_(RequestBytes(request)),
      request_(std::move(request)) {}

bool TextWork::Run() {
  try {
    if (!started_) {
      if (const Status status = Start(); !status.ok()) {
        Refuse(status.error());
        return true;
      }
    }
    return Deliver();
  } catch (const std::exception& exception) {
    Fail(Internal("{}", exception.what()));
    return true;
  }
}

void TextWork::Refuse(const Error& error) {
  if (observer_ != nullptr) observer_->OnRefused(error);
  listener_->OnRefused(error);
}

void TextWork::Wake() { queue_->Wake(shared_from_this()); }

void TextWork::End(std::optional<Error> error) {
  {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = true;
    end_error_ = std::move(error);
    for (TextGeneration& answer : answers_) answer.Cancel();
  }
  Wake();
}

Status TextWork::Start() {
  wake_ = [weak = weak_from_this()] {
    if (const auto work = weak.lock()) work->Wake();
  };
  const auto ended = [this]() -> Status {
    std::lock_guard lock(mutex_);
    if (ending_) return end_error_.value_or(Cancelled("the request was cancelled"));
    return {};
  };
  RETURN_IF_ERROR(ended());
  ASSIGN_OR_RETURN(std::vector<TokenId> prompt, engine_->Tokenize(request_));
  RETURN_IF_ERROR(ended());
  const std::vector<TokenId> started_with = prompt;
  ASSIGN_OR_RETURN(auto answers, engine_->Start(request_, std::move(prompt), choices_, wake_));
  request_ = {};
  read_at_.resize(answers.size());
  done_.resize(answers.size());
  started_ = true;
  {
    std::lock_guard lock(mutex_);
    answers_ = std::move(answers);
    if (ending_) {
      for (TextGeneration& answer : answers_) answer.Cancel();
    }
  }
  listener_->OnStarted(started_with);
  return {};
}

bool TextWork::Deliver() {
  size_t open = 0;
  for (bool progress = true; progress;) {
    progress = false;
    open = 0;
    for (size_t choice = 0; choice < answers_.size(); ++choice) {
      if (done_[choice]) continue;
      ++open;
      const bool ending = [&] {
        std::lock_guard lock(mutex_);
        return ending_;
      }();
      if (!ending && !listener_->Ready(wake_)) return false;
      std::optional<TextEvent> event = answers_[choice].TryNext();
      if (!event) continue;
      progress = true;
      if (auto* delta = std::get_if<TextDelta>(&*event)) {
        const Clock::time_point now = Clock::now();
        if (observer_ != nullptr) {
          observer_->OnTokens(!read_at_[choice], delta->token_count,
                              now - read_at_[choice].value_or(submitted_at_));
        }
        read_at_[choice] = now;
        if (!ending) listener_->OnDelta(static_cast<int>(choice), std::move(*delta));
      } else {
        --open;
        Done(static_cast<int>(choice), std::get<TextDone>(std::move(*event)));
      }
    }
  }
  return open == 0;
}

void TextWork::Done(int choice, TextDone done) {
  done_[static_cast<size_t>(choice)] = true;
  {
    std::lock_guard lock(mutex_);
    if (done.reason == FinishReason::kCancelled && end_error_) {
      done.reason = FinishReason::kError;
      done.error = end_error_;
    }
  }
  if (observer_ != nullptr) observer_->OnDone(done, Clock::now() - submitted_at_);
  listener_->OnDone(choice, done);
}

void TextWork::Fail(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    answers_.clear();  // cancels them
  }
  // The listener may be what threw, so it may throw again.
  try {
    if (!started_) return Refuse(error);
    for (size_t choice = 0; choice < done_.size(); ++choice) {
      if (!done_[choice]) {
        Done(static_cast<int>(choice), {.reason = FinishReason::kError, .error = error});
      }
    }
  } catch (const std::exception&) {
  }
}

}  // namespace tonnage::internal
