// Text in, text out, on one engine: template, tokens, generation, text, stop strings. What every
// front end translates its requests to. A TextEngine is safe from any thread; a TextGeneration
// belongs to one reader, but may be cancelled from any thread.
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
#include "engine/engine.h"
#include "service/stop_strings.h"
#include "service/text.h"
#include "tokenizer/stream_decoder.h"

namespace tonnage {

struct TextRequest {
  // A conversation, an array of {"role", "content", ...}, that the model's template makes a prompt
  // of; or null, and `prompt` is taken as it is.
  Json messages = nullptr;
  Json template_variables = Json::object();  // tools, documents, enable_thinking, ...
  std::string prompt = {};

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
  // Blocks for the next event. Nothing after the TextDone, of which there is exactly one.
  std::optional<TextEvent> Next();
  void Cancel() { generation_.Cancel(); }

 private:
  friend class TextEngine;
  TextGeneration(Generation generation, const Tokenizer& tokenizer, StopStrings stops,
                 bool wants_tokens)
      : generation_(std::move(generation)),
        stream_(tokenizer),
        stops_(std::move(stops)),
        wants_tokens_(wants_tokens) {}

  Status Take(const TokenEvent& event, TextDelta& delta);
  Status TakeText(const std::string& text, TextDelta& delta);
  // Ends the stream with what was held back, unless a stop string or an error has ended it.
  void End(const DoneEvent& end, TextDelta& delta);
  DoneEvent CancelAndDrain();

  Generation generation_;
  StreamDecoder stream_;
  StopStrings stops_;
  bool wants_tokens_;
  std::int64_t tokens_read_ = 0;
  std::optional<TextDone> done_;  // comes next
  bool over_ = false;
};

class TextEngine {
 public:
  using TimeSource = std::function<chat::LocalTime()>;

  // `engine` outlives it; `now` tells templates the time.
  static Result<std::unique_ptr<TextEngine>> Make(Engine& engine, ModelText text,
                                                  TimeSource now = chat::CurrentLocalTime);

  Result<TextGeneration> Start(const TextRequest& request) const;

  // The prompt that a conversation becomes. Unsupported when the model has no template.
  Result<std::string> Render(const Json& messages, const Json& template_variables) const;
  Result<std::vector<TokenId>> Tokenize(const TextRequest& request) const;

  Engine& engine() const { return engine_; }
  const ModelText& text() const { return text_; }
  bool has_template() const { return template_.has_value(); }

 private:
  TextEngine(Engine& engine, ModelText text, std::optional<chat::Template> chat_template,
             TimeSource now)
      : engine_(engine),
        text_(std::move(text)),
        template_(std::move(chat_template)),
        now_(std::move(now)) {}

  Engine& engine_;
  const ModelText text_;
  const std::optional<chat::Template> template_;
  const TimeSource now_;
};

// Tokens of the answer a second, from the first to the last; 0 where there are not two.
double DecodeTokensPerSecond(const Usage& usage);
// Tokens of the prompt a second.
double PrefillTokensPerSecond(const Usage& usage);

}  // namespace tonnage
