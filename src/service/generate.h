// Text in, text out, on one engine: template, tokens, generation, text, stop strings. What every
// front end translates its requests to; what a request may hold is checked here and in the engine,
// for all of them. A TextEngine is safe from any thread; a TextGeneration belongs to one reader,
// but may be cancelled from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/local_time.h"
#include "chat/template.h"
#include "engine/token_engine.h"
#include "service/stop_strings.h"
#include "service/text.h"
#include "tokenizer/stream_decoder.h"

namespace tonnage {

struct TextRequest {
  // A conversation, an array of {"role", "content", ...}, that the model's template makes a prompt
  // of; or null, and the prompt is taken as it is: `prompt_ids`, or else `prompt`.
  Json messages = nullptr;
  Json template_variables = Json::object();  // tools, documents, enable_thinking, ...
  std::string prompt = {};
  std::optional<std::vector<TokenId>> prompt_ids = std::nullopt;

  SamplingParams sampling = {};
  std::optional<std::int64_t> max_tokens = std::nullopt;  // none: what the context leaves
  std::vector<std::string> stop = {};
  bool ignore_end = false;  // go on where the model would end, up to max_tokens
  std::optional<std::int64_t> logprobs = std::nullopt;  // as Request::logprobs
  std::optional<Clock::time_point> deadline = std::nullopt;
};

// A chosen token with its log probabilities.
struct TokenDetail {
  std::int32_t token = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top = {};
};

// More of the answer. The tokens are those that were read for it, with TextRequest::logprobs only;
// a token's text may come with a later event.
struct TextDelta {
  std::string text;
  std::vector<TokenDetail> tokens = {};
  std::int64_t token_count = 0;  // that were read for it, wanted or not
};

// The last event of every generation.
struct TextDone {
  FinishReason reason = FinishReason::kStop;
  std::optional<Error> error = std::nullopt;  // with kError
  Usage usage = {};
};

using TextEvent = std::variant<TextDelta, TextDone>;

class TextGeneration {
 public:
  // The next event, waiting for it. Nothing after the TextDone, of which there is exactly one.
  std::optional<TextEvent> Next();
  // The next event; nothing when none is there, or after the TextDone.
  std::optional<TextEvent> TryNext();
  void Cancel() { generation_.Cancel(); }

 private:
  friend class TextEngine;
  TextGeneration(Generation generation, const Tokenizer& tokenizer, StopStrings stops,
                 bool wants_tokens)
      : generation_(std::move(generation)),
        stream_(tokenizer),
        stops_(std::move(stops)),
        wants_tokens_(wants_tokens) {}

  // The next event made of what `read` gives until it gives nothing.
  template <typename Read>
  std::optional<TextEvent> NextOf(Read read);
  void Take(const TokenEvent& event);
  // Ends the text where the engine has not: it hears of it, and goes on until its next step.
  void EndEarly(FinishReason reason, std::optional<Error> error);
  // Ends the stream with what was held back, unless it has ended early.
  void End(const DoneEvent& end);

  Generation generation_;
  StreamDecoder stream_;
  StopStrings stops_;
  bool wants_tokens_;
  std::int64_t tokens_read_ = 0;
  TextDelta delta_;                // read, but not given out
  std::optional<TextDone> early_;  // comes when the engine has ended too
  std::optional<TextDone> done_;   // comes next
};

class TextEngine {
 public:
  using TimeSource = std::function<chat::LocalTime()>;

  // `engine` outlives it; `now` tells templates the time.
  static Result<std::unique_ptr<TextEngine>> Make(TokenEngine& engine, ModelText text,
                                                  TimeSource now = chat::CurrentLocalTime);

  Result<TextGeneration> Start(const TextRequest& request) const;
  // Starts `choices` answers to the request whose prompt Tokenize has made, all of them or none.
  // `on_event` is as TokenEngine::Start has it.
  Result<std::vector<TextGeneration>> Start(const TextRequest& request, std::vector<TokenId> prompt,
                                            int choices, std::function<void()> on_event) const;

  // The prompt that a conversation becomes. Unsupported when the model has no template.
  Result<std::string> Render(const Json& messages, const Json& template_variables) const;
  Result<std::vector<TokenId>> Tokenize(const TextRequest& request) const;

  TokenEngine& engine() const { return engine_; }
  const ModelText& text() const { return text_; }
  bool has_template() const { return template_.has_value(); }
  // Whether the template can heed a variable of that name.
  bool TemplateMentions(std::string_view variable) const {
    return template_ && template_->Mentions(variable);
  }

 private:
  TextEngine(TokenEngine& engine, ModelText text, std::optional<chat::Template> chat_template,
             TimeSource now)
      : engine_(engine),
        text_(std::move(text)),
        template_(std::move(chat_template)),
        now_(std::move(now)) {}

  TokenEngine& engine_;
  const ModelText text_;
  const std::optional<chat::Template> template_;
  const TimeSource now_;
};

// Tokens of the answer a second, from the first to the last; 0 where there are not two.
double DecodeTokensPerSecond(const Usage& usage);
// Tokens of the prompt a second.
double PrefillTokensPerSecond(const Usage& usage);

}  // namespace tonnage
