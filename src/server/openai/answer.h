// Carries the events of one call from the dispatcher to its client: whole, or as a stream that ends
// with exactly one terminal event. Cancels what is left when the client goes or a part fails, and
// lets a client that reads slowly slow its own answer. Kept alive by the dispatcher until every
// submission has ended; safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/http/message.h"
#include "server/openai/answer_writer.h"
#include "server/openai/call.h"
#include "service/dispatcher.h"

namespace tonnage::openai {

class Answer : public std::enable_shared_from_this<Answer> {
 public:
  Answer(Call call, const Envelope& envelope, std::shared_ptr<const TextEngine> engine,
         std::shared_ptr<http::Responder> responder);

  // Once.
  void Submit(Dispatcher& dispatcher);

 private:
  class PromptListener;

  struct Candidate {
    Choice choice = {};
    double logprob = 0;  // of all its tokens together
  };

  // What the dispatcher tells; `candidate` counts over all prompts.
  void Started(std::size_t prompt, std::span<const TokenId> ids);
  void Delta(std::size_t candidate, TextDelta delta);
  void Done(std::size_t prompt, std::size_t candidate, const TextDone& done);
  void Refused(std::size_t prompt, const Error& error);
  bool Ready(std::size_t prompt, const std::function<void()>& resume);

  // With mutex_ held.
  void Begin();
  void Complete();
  std::vector<Choice> BestChoices();

  void Fail(const Error& error);
  void CancelAll();
  void ResumeAll();
  // An error that names no field is about the prompt.
  Error AboutPrompt(std::size_t prompt, const Error& error) const;

  Call call_;  // the prompts' requests are gone once they are submitted
  const std::size_t prompts_;
  const std::shared_ptr<const TextEngine> engine_;
  const std::shared_ptr<http::Responder> responder_;

  std::mutex mutex_;  // guards what follows
  const std::unique_ptr<AnswerWriter> writer_;
  std::vector<std::string> echoes_;             // [prompts]
  std::vector<Candidate> candidates_;           // [prompts * candidates]
  std::vector<TextCall> submitted_;             // at most [prompts]
  std::vector<std::function<void()>> waiting_;  // [prompts], what lets it go on; may be empty
  bool awaits_client_ = false;                  // to take what was written
  TokenTotals totals_;
  std::size_t started_ = 0;  // prompts
  std::size_t done_ = 0;     // candidates
  bool over_ = false;        // the client has its end, or has gone
};

}  // namespace tonnage::openai
