#include "service/generate.h"

#include <utility>

namespace tonnage {
namespace {

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double PerSecond(std::int64_t count, Clock::duration duration) {
  return count > 0 && duration.count() > 0 ? static_cast<double>(count) / Seconds(duration) : 0;
}

}  // namespace

std::optional<TextEvent> TextGeneration::Next() {
  return NextOf([this] { return generation_.Next(); });
}

std::optional<TextEvent> TextGeneration::TryNext() {
  return NextOf([this] { return generation_.TryNext(); });
}

template <typename Read>
std::optional<TextEvent> TextGeneration::NextOf(Read read) {
  while (!done_ && delta_.text.empty()) {
    const std::optional<GenerationEvent> event = read();
    if (!event) break;
    if (const auto* end = std::get_if<DoneEvent>(&*event)) {
      End(*end);
    } else if (!early_) {
      Take(std::get<TokenEvent>(*event));
    }
  }
  if (!delta_.text.empty() || !delta_.tokens.empty()) return std::exchange(delta_, {});
  if (done_) return *std::exchange(done_, std::nullopt);
  return std::nullopt;
}

void TextGeneration::Take(const TokenEvent& event) {
  ++tokens_read_;
  ++delta_.token_count;
  if (wants_tokens_) {
    delta_.tokens.push_back({event.token, event.logprob, {event.top.begin(), event.top.end()}});
  }
  std::string text;
  if (const Status pushed = stream_.Push(event.token, text); !pushed.ok()) {
    return EndEarly(FinishReason::kError, pushed.error());
  }
  if (stops_.Push(text, delta_.text)) EndEarly(FinishReason::kStop, std::nullopt);
}

void TextGeneration::EndEarly(FinishReason reason, std::optional<Error> error) {
  early_ = TextDone{reason, std::move(error)};
  generation_.Cancel();
}

void TextGeneration::End(const DoneEvent& end) {
  if (early_) {
    done_ = std::move(early_);
    done_->usage = end.usage;
    done_->usage.generated_tokens = tokens_read_;
    return;
  }
  done_ = TextDone{end.reason, end.error, end.usage};
  std::string rest;
  if (const Status finished = stream_.Finish(rest); !finished.ok() && !done_->error) {
    done_->reason = FinishReason::kError;
    done_->error = finished.error();
  }
  if (stops_.Push(rest, delta_.text)) {
    if (end.reason == FinishReason::kLength) done_->reason = FinishReason::kStop;
  } else {
    stops_.Finish(delta_.text);
  }
}

Result<std::unique_ptr<TextEngine>> TextEngine::Make(TokenEngine& engine, ModelText text,
                                                     TimeSource now) {
  std::optional<chat::Template> chat_template;
  if (const std::string* source = text.ChatTemplate()) {
    auto parsed = chat::Template::Parse(*source);
    if (!parsed.ok()) return parsed.error().In("chat template");
    chat_template = std::move(*parsed);
  }
  return std::unique_ptr<TextEngine>(
      new TextEngine(engine, std::move(text), std::move(chat_template), std::move(now)));
}

Result<std::string> TextEngine::Render(const Json& messages, const Json& template_variables) const {
  if (!template_) {
    return Unsupported("the model has no chat template: give it a plain prompt instead");
  }
  if (!template_variables.is_object()) {
    return InvalidArgument("the template's variables must be a JSON object");
  }
  Json variables = {{"messages", messages},         {"add_generation_prompt", true},
                    {"bos_token", text_.bos_token}, {"eos_token", text_.eos_token},
                    {"unk_token", text_.unk_token}, {"pad_token", text_.pad_token}};
  variables.update(template_variables);
  auto rendered = template_->Render(variables, {.now = now_(), .limits = {}});
  if (!rendered.ok()) return rendered.error().In("chat template");
  return rendered;
}

Result<std::vector<TokenId>> TextEngine::Tokenize(const TextRequest& request) const {
  if (request.messages.is_null()) {
    if (request.prompt_ids) return *request.prompt_ids;
    return text_.tokenizer->Encode(request.prompt, true);
  }
  // A template writes the special tokens itself.
  ASSIGN_OR_RETURN(const std::string prompt, Render(request.messages, request.template_variables));
  return text_.tokenizer->Encode(prompt, false);
}

Result<TextGeneration> TextEngine::Start(const TextRequest& request) const {
  ASSIGN_OR_RETURN(std::vector<TokenId> prompt, Tokenize(request));
  ASSIGN_OR_RETURN(auto one, Start(request, std::move(prompt), 1, {}));
  return std::move(one.front());
}

Result<std::vector<TextGeneration>> TextEngine::Start(const TextRequest& request,
                                                      std::vector<TokenId> prompt, int choices,
                                                      std::function<void()> on_event) const {
  ASSIGN_OR_RETURN(const StopStrings stops, StopStrings::Make(request.stop));
  ASSIGN_OR_RETURN(
      std::vector<Generation> generations,
      engine_.Start({.prompt = std::move(prompt),
                     .sampling = request.sampling,
                     .max_tokens = request.max_tokens,
                     .stop_tokens = request.ignore_end ? std::vector<TokenId>() : text_.end_ids,
                     .logprobs = request.logprobs,
                     .deadline = request.deadline},
                    choices, std::move(on_event)));
  std::vector<TextGeneration> answers;
  for (Generation& generation : generations) {
    answers.push_back(TextGeneration(std::move(generation), *text_.tokenizer, stops,
                                     request.logprobs.has_value()));
  }
  return answers;
}

double DecodeTokensPerSecond(const Usage& usage) {
  return PerSecond(usage.generated_tokens - 1, usage.decode);
}

double PrefillTokensPerSecond(const Usage& usage) {
  return PerSecond(usage.prompt_tokens, usage.prefill);
}

}  // namespace tonnage
