// Writes the answers of OpenAI's protocol, whole or as server-sent events. What is the same in
// every event of a stream is made once, so that a token costs little more than its own text. All
// JSON is valid UTF-8 whatever the tokens are. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/openai/call.h"
#include "service/generate.h"
#include "tokenizer/tokenizer.h"

namespace tonnage::openai {

// What names an answer.
struct Envelope {
  std::string id;
  std::int64_t created_s = 0;  // since 1970
  std::string model;
  std::string fingerprint;  // changes with whatever may change answers
};

struct TokenTotals {
  std::int64_t prompt = 0;
  std::int64_t completion = 0;
};

// One choice of an answer that is given whole.
struct Choice {
  std::string text = {};
  std::vector<TokenDetail> tokens = {};
  FinishReason reason = FinishReason::kStop;
};

inline constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";

class AnswerWriter {
 public:
  // Borrows the tokenizer.
  static std::unique_ptr<AnswerWriter> Make(const Call& call, const Envelope& envelope,
                                            const Tokenizer& tokenizer);
  virtual ~AnswerWriter() = default;

  // Events, appended to `out`. `echo` is the prompt, where the call asks for it.
  void Open(int choice, std::string_view echo, std::string& out);
  void Delta(int choice, const TextDelta& delta, std::string& out);
  void Finish(int choice, FinishReason reason, std::string& out);
  void Usage(const TokenTotals& totals, std::string& out);

  // A whole answer.
  std::string Whole(std::span<const Choice> choices, const TokenTotals& totals);

 protected:
  struct Shape {
    std::string_view object;        // of a whole answer
    std::string_view event_object;  // of a stream's events
  };
  AnswerWriter(const Call& call, const Envelope& envelope, const Tokenizer& tokenizer, Shape shape);

  // Each appends the object of a choice.
  virtual void OpenChoice(int choice, std::string_view echo, std::string& out) = 0;
  virtual void DeltaChoice(int choice, const TextDelta& delta, std::string& out) = 0;
  virtual void FinishChoice(int choice, FinishReason reason, std::string& out) = 0;
  virtual void WholeChoice(int choice, const Choice& answer, std::string& out) = 0;

  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool logprobs() const { return logprobs_; }
  virtual bool opens(std::string_view echo) const = 0;  // whether a choice begins with an event

 private:
  const Tokenizer& tokenizer_;
  const bool logprobs_;
  std::string whole_head_, event_head_, event_tail_;
};

}  // namespace tonnage::openai
