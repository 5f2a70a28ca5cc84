#include "server/openai/answer_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "base/json.h"
#include "server/openai/logprobs.h"

namespace tonnage::openai {
namespace {

std::string Head(std::string_view object, const Envelope& envelope) {
  return fmt::format(
      R"({{"id":{},"object":"{}","created":{},"model":{},"system_fingerprint":{},"choices":[)",
      DumpJson(envelope.id), object, envelope.created_s, DumpJson(envelope.model),
      DumpJson(envelope.fingerprint));
}

void AppendUsage(const TokenTotals& totals, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                 totals.prompt, totals.completion, totals.prompt + totals.completion);
}

void AppendText(std::string_view text, std::string& out) { out += DumpJson(text); }

// The protocol knows two ways to end well; every other is an error of its own.
std::string_view ReasonName(FinishReason reason) {
  return reason == FinishReason::kLength ? "length" : "stop";
}

class ChatWriter final : public AnswerWriter {
 public:
  ChatWriter(const Call& call, const Envelope& envelope, const Tokenizer& tokenizer)
      : AnswerWriter(call, envelope, tokenizer,
                     {.object = "chat.completion", .event_object = "chat.completion.chunk"}) {}

 private:
  bool opens(std::string_view) const override { return true; }
  void OpenChoice(int choice, std::string_view, std::string& out) override {
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"delta":{{"role":"assistant",)",
                   choice);
    out += R"("content":"","refusal":null},"logprobs":null,"finish_reason":null})";
  }
  void DeltaChoice(int choice, const TextDelta& delta, std::string& out) override {
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"delta":{{"content":)", choice);
    AppendText(delta.text, out);
    out += R"(},"logprobs":)";
    AppendLogprobs(delta.tokens, out);
    out += R"(,"finish_reason":null})";
  }
  void FinishChoice(int choice, FinishReason reason, std::string& out) override {
    fmt::format_to(std::back_inserter(out),
                   R"({{"index":{},"delta":{{}},"logprobs":null,"finish_reason":"{}"}})", choice,
                   ReasonName(reason));
  }
  void WholeChoice(int choice, const Choice& answer, std::string& out) override {
    fmt::format_to(std::back_inserter(out),
                   R"({{"index":{},"message":{{"role":"assistant","content":)", choice);
    AppendText(answer.text, out);
    out += R"(,"refusal":null},"logprobs":)";
    AppendLogprobs(answer.tokens, out);
    fmt::format_to(std::back_inserter(out), R"(,"finish_reason":"{}"}})",
                   ReasonName(answer.reason));
  }
  void AppendLogprobs(std::span<const TokenDetail> tokens, std::string& out) const {
    if (!logprobs()) {
      out += "null";
      return;
    }
    AppendChatLogprobs(tokenizer(), tokens, out);
  }
};

class CompletionWriter final : public AnswerWriter {
 public:
  CompletionWriter(const Call& call, const Envelope& envelope, const Tokenizer& tokenizer)
      : AnswerWriter(call, envelope, tokenizer,
                     {.object = "text_completion", .event_object = "text_completion"}),
        offsets_(call.prompts.size() * static_cast<std::size_t>(call.choices)) {}

 private:
  bool opens(std::string_view echo) const override { return !echo.empty(); }
  void OpenChoice(int choice, std::string_view echo, std::string& out) override {
    Append(choice, echo, {}, {}, out);
  }
  void DeltaChoice(int choice, const TextDelta& delta, std::string& out) override {
    Append(choice, delta.text, delta.tokens, {}, out);
  }
  void FinishChoice(int choice, FinishReason reason, std::string& out) override {
    Append(choice, {}, {}, ReasonName(reason), out);
  }
  void WholeChoice(int choice, const Choice& answer, std::string& out) override {
    Append(choice, answer.text, answer.tokens, ReasonName(answer.reason), out);
  }

  void Append(int choice, std::string_view text, std::span<const TokenDetail> tokens,
              std::string_view reason, std::string& out) {
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"text":)", choice);
    AppendText(text, out);
    out += R"(,"logprobs":)";
    if (logprobs() && (!tokens.empty() || !reason.empty())) {
      AppendCompletionLogprobs(tokenizer(), tokens, offsets_[static_cast<std::size_t>(choice)],
                               out);
    } else {
      out += "null";
    }
    out += R"(,"finish_reason":)";
    out += reason.empty() ? "null}" : fmt::format(R"("{}"}})", reason);
  }

  std::vector<std::int64_t> offsets_;  // of each choice: characters of the tokens so far
};

}  // namespace

std::unique_ptr<AnswerWriter> AnswerWriter::Make(const Call& call, const Envelope& envelope,
                                                 const Tokenizer& tokenizer) {
  if (call.kind == Call::Kind::kChat) {
    return std::make_unique<ChatWriter>(call, envelope, tokenizer);
  }
  return std::make_unique<CompletionWriter>(call, envelope, tokenizer);
}

AnswerWriter::AnswerWriter(const Call& call, const Envelope& envelope, const Tokenizer& tokenizer,
                           Shape shape)
    : tokenizer_(tokenizer),
      logprobs_(call.logprobs),
      whole_head_(Head(shape.object, envelope)),
      event_head_("data: " + Head(shape.event_object, envelope)),
      event_tail_(call.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n") {}

void AnswerWriter::Open(int choice, std::string_view echo, std::string& out) {
  if (!opens(echo)) return;
  out += event_head_;
  OpenChoice(choice, echo, out);
  out += event_tail_;
}

void AnswerWriter::Delta(int choice, const TextDelta& delta, std::string& out) {
  if (delta.text.empty() && (!logprobs_ || delta.tokens.empty())) return;
  out += event_head_;
  DeltaChoice(choice, delta, out);
  out += event_tail_;
}

void AnswerWriter::Finish(int choice, FinishReason reason, std::string& out) {
  out += event_head_;
  FinishChoice(choice, reason, out);
  out += event_tail_;
}

void AnswerWriter::Usage(const TokenTotals& totals, std::string& out) {
  out += event_head_;
  out += "],\"usage\":";
  AppendUsage(totals, out);
  out += "}\n\n";
}

std::string AnswerWriter::Whole(std::span<const Choice> choices, const TokenTotals& totals) {
  std::string out = whole_head_;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += ',';
    WholeChoice(static_cast<int>(i), choices[i], out);
  }
  out += "],\"usage\":";
  AppendUsage(totals, out);
  out += '}';
  return out;
}

}  // namespace tonnage::openai
