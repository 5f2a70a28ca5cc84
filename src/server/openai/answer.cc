#include "server/openai/answer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/openai/errors.h"

namespace tonnage::openai {
namespace {

// What may wait for a client that does not read.
constexpr std::size_t kPendingBytes = 256 << 10;

double MeanLogprob(double sum, std::size_t tokens) {
  return tokens > 0 ? sum / static_cast<double>(tokens) : std::numeric_limits<double>::lowest();
}

}  // namespace

// One prompt's part of the call.
class Answer::PromptListener final : public TextListener {
 public:
  PromptListener(std::shared_ptr<Answer> answer, std::size_t prompt)
      : answer_(std::move(answer)), prompt_(prompt) {}

  void OnStarted(std::span<const TokenId> prompt) override { answer_->Started(prompt_, prompt); }
  void OnDelta(int choice, TextDelta delta) override {
    answer_->Delta(Index(choice), std::move(delta));
  }
  void OnDone(int choice, const TextDone& done) override {
    answer_->Done(prompt_, Index(choice), done);
  }
  void OnRefused(const Error& error) override { answer_->Refused(prompt_, error); }
  bool Ready(const std::function<void()>& resume) override {
    return answer_->Ready(prompt_, resume);
  }

 private:
  std::size_t Index(int choice) const {
    return prompt_ * static_cast<std::size_t>(answer_->call_.candidates) +
           static_cast<std::size_t>(choice);
  }

  const std::shared_ptr<Answer> answer_;
  const std::size_t prompt_;
};

Answer::Answer(Call call, const Envelope& envelope, std::shared_ptr<const TextEngine> engine,
               std::shared_ptr<http::Responder> responder)
    : call_(std::move(call)),
      prompts_(call_.prompts.size()),
      engine_(std::move(engine)),
      responder_(std::move(responder)),
      writer_(AnswerWriter::Make(call_, envelope, *engine_->text().tokenizer)),
      echoes_(prompts_),
      candidates_(prompts_ * static_cast<std::size_t>(call_.candidates)),
      waiting_(prompts_) {}

void Answer::Submit(Dispatcher& dispatcher) {
  responder_->OnGone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CancelAll();
  });
  for (std::size_t i = 0; i < prompts_; ++i) {
    {
      std::lock_guard lock(mutex_);
      if (over_) return;
      if (call_.echo) echoes_[i] = call_.prompts[i].prompt;
    }
    TextCall submitted = dispatcher.Submit(engine_, std::move(call_.prompts[i]), call_.candidates,
                                           std::make_shared<PromptListener>(shared_from_this(), i));
    std::unique_lock lock(mutex_);
    submitted_.push_back(submitted);
    const bool over = over_;
    lock.unlock();
    if (over) submitted.Cancel();
  }
}

void Answer::Started(std::size_t prompt, std::span<const TokenId> ids) {
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    totals_.prompt += static_cast<std::int64_t>(ids.size());
    if (call_.echo && echoes_[prompt].empty()) {
      auto text = engine_->text().tokenizer->Decode(ids, false);
      if (text.ok()) echoes_[prompt] = std::move(*text);
    }
    if (++started_ < prompts_) return;
    if (call_.stream) Begin();
  }
  ResumeAll();
}

void Answer::Begin() {
  http::Response head{.status = 200,
                      .content_type = "text/event-stream; charset=utf-8",
                      .body = {},
                      .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const std::size_t prompt = i / static_cast<std::size_t>(call_.candidates);
    writer_->Open(static_cast<int>(i), echoes_[prompt], head.body);
  }
  responder_->Begin(std::move(head));
}

void Answer::Delta(std::size_t candidate, TextDelta delta) {
  std::lock_guard lock(mutex_);
  if (over_) return;
  if (call_.stream) {
    std::string event;
    writer_->Delta(static_cast<int>(candidate), delta, event);
    if (!event.empty()) responder_->Write(event);
    return;
  }
  Candidate& so_far = candidates_[candidate];
  so_far.choice.text += delta.text;
  for (TokenDetail& token : delta.tokens) {
    so_far.logprob += token.logprob;
    so_far.choice.tokens.push_back(std::move(token));
  }
}

void Answer::Done(std::size_t prompt, std::size_t candidate, const TextDone& done) {
  if (done.reason == FinishReason::kError) {
    return Fail(AboutPrompt(prompt, done.error.value_or(Internal("the answer failed"))));
  }
  if (done.reason == FinishReason::kCancelled) {
    return Fail(Cancelled("the request was cancelled: send it again"));
  }
  std::lock_guard lock(mutex_);
  if (over_) return;
  totals_.completion += done.usage.generated_tokens;
  candidates_[candidate].choice.reason = done.reason;
  if (call_.stream) {
    std::string event;
    writer_->Finish(static_cast<int>(candidate), done.reason, event);
    responder_->Write(event);
  }
  if (++done_ == candidates_.size()) Complete();
}

void Answer::Complete() {
  over_ = true;
  if (call_.stream) {
    std::string last;
    if (call_.include_usage) writer_->Usage(totals_, last);
    last += kStreamEnd;
    responder_->Write(last);
    responder_->End();
    return;
  }
  responder_->Reply({.status = 200,
                     .content_type = "application/json",
                     .body = writer_->Whole(BestChoices(), totals_),
                     .headers = {}});
}

std::vector<Choice> Answer::BestChoices() {
  std::vector<Choice> best;
  const auto of_each = static_cast<std::ptrdiff_t>(call_.candidates);
  for (std::size_t prompt = 0; prompt < prompts_; ++prompt) {
    const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(prompt) * of_each;
    if (call_.candidates > call_.choices) {
      std::stable_sort(first, first + of_each, [](const Candidate& a, const Candidate& b) {
        return MeanLogprob(a.logprob, a.choice.tokens.size()) >
               MeanLogprob(b.logprob, b.choice.tokens.size());
      });
    }
    for (auto it = first; it != first + call_.choices; ++it) {
      it->choice.text.insert(0, echoes_[prompt]);
      best.push_back(std::move(it->choice));
    }
  }
  return best;
}

void Answer::Refused(std::size_t prompt, const Error& error) { Fail(AboutPrompt(prompt, error)); }

Error Answer::AboutPrompt(std::size_t prompt, const Error& error) const {
  const Code code = error.code();
  const bool of_the_input = code == Code::kInvalidArgument || code == Code::kTooLong ||
                            code == Code::kUnsupported || code == Code::kUnreadable;
  if (!of_the_input || !error.field().empty()) return error;
  if (call_.kind == Call::Kind::kChat) return error.About("messages");
  return error.About(prompts_ > 1 ? fmt::format("prompt[{}]", prompt) : "prompt");
}

void Answer::Fail(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    if (call_.stream && started_ == prompts_) {
      responder_->Write("data: " + ErrorJson(error) + "\n\n");
      responder_->End();
    } else {
      responder_->Reply(ErrorResponse(error, engine_->engine()));
    }
  }
  CancelAll();
}

void Answer::CancelAll() {
  std::vector<TextCall> submitted;
  {
    std::lock_guard lock(mutex_);
    over_ = true;
    submitted = submitted_;
  }
  for (const TextCall& call : submitted) call.Cancel();
  ResumeAll();
}

bool Answer::Ready(std::size_t prompt, const std::function<void()>& resume) {
  {
    std::lock_guard lock(mutex_);
    if (over_ || !call_.stream) return true;
    const bool begun = started_ == prompts_;
    if (begun && responder_->pending_bytes() < kPendingBytes) return true;
    waiting_[prompt] = resume;
    if (!begun || std::exchange(awaits_client_, true)) return false;
  }
  responder_->WhenBelow(kPendingBytes, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->ResumeAll();
  });
  return false;
}

void Answer::ResumeAll() {
  std::vector<std::function<void()>> waiting;
  {
    std::lock_guard lock(mutex_);
    waiting.resize(prompts_);
    waiting.swap(waiting_);
    awaits_client_ = false;
  }
  for (const auto& resume : waiting) {
    if (resume) resume();
  }
}

}  // namespace tonnage::openai
