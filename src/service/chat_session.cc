#include "service/chat_session.h"

#include <utility>

namespace tonnage {

ChatSession::ChatSession(const TextEngine& engine, TextRequest settings, std::string system_prompt)
    : engine_(engine), settings_(std::move(settings)), system_prompt_(std::move(system_prompt)) {
  Clear();
}

void ChatSession::Clear() {
  messages_ = Json::array();
  if (!system_prompt_.empty()) {
    messages_.push_back({{"role", "system"}, {"content", system_prompt_}});
  }
}

void ChatSession::Stop() {
  stopped_.store(true);
  if (TextGeneration* current = current_.load()) current->Cancel();
}

Result<TextDone> ChatSession::Ask(std::string_view question,
                                  const std::function<void(std::string_view)>& on_text) {
  TextRequest request = settings_;
  request.messages = messages_;
  request.messages.push_back({{"role", "user"}, {"content", question}});
  stopped_.store(false);
  ASSIGN_OR_RETURN(TextGeneration generation, engine_.Start(request));
  current_.store(&generation);
  if (stopped_.load()) generation.Cancel();  // Stop came before it could see the generation
  std::string answer;
  TextDone done;
  while (auto event = generation.Next()) {
    if (const auto* delta = std::get_if<TextDelta>(&*event)) {
      answer += delta->text;
      on_text(delta->text);
    } else {
      done = std::get<TextDone>(std::move(*event));
    }
  }
  current_.store(nullptr);
  if (done.error) return *done.error;
  messages_ = std::move(request.messages);
  messages_.push_back({{"role", "assistant"}, {"content", std::move(answer)}});
  return done;
}

}  // namespace tonnage
