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
  TextDelta delta;
  while (!done_ && !over_ && delta.text.empty()) {
    const GenerationEvent event = *generation_.Next();
    if (const auto* end = std::get_if<DoneEvent>(&event)) {
      End(*end, delta);
    } else if (const Status taken = Take(std::get<TokenEvent>(event), delta); !taken.ok()) {
      done_ = TextDone{FinishReason::kError, taken.error(), CancelAndDrain().usage};
    } else if (stops_.stopped()) {
      done_ = TextDone{FinishReason::kStop, std::nullopt, CancelAndDrain().usage};
      done_->usage.generated_tokens = tokens_read_;
    }
  }
  if (!delta.text.empty() || !delta.tokens.empty()) return delta;
  if (over_) return std::nullopt;
  over_ = true;
  return *std::exchange(done_, std::nullopt);
}

Status TextGeneration::Take(const TokenEvent& event, TextDelta& delta) {
  ++tokens_read_;
  if (wants_tokens_) {
    delta.tokens.push_back({event.token, event.logprob, {event.top.begin(), event.top.end()}});
  }
  std::string text;
  RETURN_IF_ERROR(stream_.Push(event.token, text));
  stops_.Push(text, delta.text);
  return {};
}

void TextGeneration::End(const DoneEvent& end, TextDelta& delta) {
  done_ = TextDone{end.reason, end.error, end.usage};
  std::string rest;
  if (const Status finished = stream_.Finish(rest); !finished.ok() && !done_->error) {
    done_->reason = FinishReason::kError;
    done_->error = finished.error();
  }
  if (stops_.Push(rest, delta.text)) {
    if (end.reason == FinishReason::kLength) done_->reason = FinishReason::kStop;
  } else {
    stops_.Finish(delta.text);
  }
}

DoneEvent TextGeneration::CancelAndDrain() {
  generation_.Cancel();
  for (;;) {
    const GenerationEvent event = *generation_.Next();
    if (const auto* end = std::get_if<DoneEvent>(&event)) return *end;
  }
}

Result<std::unique_ptr<TextEngine>> TextEngine::Make(Engine& engine, ModelText text,
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
  if (request.messages.is_null()) return text_.tokenizer->Encode(request.prompt, true);
  // A template writes the special tokens itself.
  ASSIGN_OR_RETURN(const std::string prompt, Render(request.messages, request.template_variables));
  return text_.tokenizer->Encode(prompt, false);
}

Result<TextGeneration> TextEngine::Start(const TextRequest& request) const {
  ASSIGN_OR_RETURN(StopStrings stops, StopStrings::Make(request.stop));
  ASSIGN_OR_RETURN(std::vector<TokenId> prompt, Tokenize(request));
  ASSIGN_OR_RETURN(
      Generation generation,
      engine_.Start({.prompt = std::move(prompt),
                     .sampling = request.sampling,
                     .max_tokens = request.max_tokens,
                     .stop_tokens = request.ignore_end ? std::vector<TokenId>() : text_.end_ids,
                     .logprobs = request.logprobs,
                     .deadline = request.deadline}));
  return TextGeneration(std::move(generation), *text_.tokenizer, std::move(stops),
                        request.logprobs.has_value());
}

double DecodeTokensPerSecond(const Usage& usage) {
  return PerSecond(usage.generated_tokens - 1, usage.decode);
}

double PrefillTokensPerSecond(const Usage& usage) {
  return PerSecond(usage.prompt_tokens, usage.prefill);
}

}  // namespace tonnage
