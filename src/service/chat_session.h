// A conversation that remembers: what `tonnage run` talks to. Borrows the text engine. One thread
// asks; Stop is safe from any thread and from a signal handler.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "service/generate.h"

namespace tonnage {

class ChatSession {
 public:
  // `settings` says how every answer is made; its messages and prompt are not used. An empty system
  // prompt is none.
  ChatSession(const TextEngine& engine, TextRequest settings, std::string system_prompt = {});

  // Asks, and gives the answer's text out as it comes. The question and the answer, cut short or
  // not, are remembered; after an error neither is.
  Result<TextDone> Ask(std::string_view question,
                       const std::function<void(std::string_view)>& on_text);

  // Ends the answer under way; what has come of it stays.
  void Stop();
  // Forgets everything but the system prompt.
  void Clear();

  const Json& messages() const { return messages_; }
  TextRequest& settings() { return settings_; }

 private:
  const TextEngine& engine_;
  TextRequest settings_;
  const std::string system_prompt_;
  Json messages_ = Json::array();
  std::atomic<bool> stopped_{false};
  std::atomic<TextGeneration*> current_{nullptr};
};

}  // namespace tonnage
