// A call of OpenAI's protocol, as the bytes of its body ask for it. Parsing is total: any bytes
// give a Call in which every field is honoured, or an error whose field() is the one to mend. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/generate.h"

namespace tonnage::openai {

inline constexpr std::int64_t kMaxAnswers = 128;  // of one call, those that are not shown included

// A field that only some models' chat templates heed, and the names that they may know it by.
struct TemplateField {
  std::string name;
  std::vector<std::string> variables;
};

struct Call {
  enum class Kind { kChat, kCompletion };

  Kind kind = Kind::kChat;
  std::string model = {};
  std::vector<TextRequest> prompts = {};  // one, but where a completion has several
  int choices = 1;                        // that each prompt's answer shows
  int candidates = 1;                     // of which they are the best; not fewer
  bool logprobs = false;                  // shown
  bool echo = false;                      // the prompt goes before its answer
  bool stream = false;
  bool include_usage = false;                       // a stream ends with the usage
  std::vector<TemplateField> template_fields = {};  // whether they are honoured, the model decides
  std::vector<std::string> unknown_fields = {};     // that nobody has heard of: for the log
};

Result<Call> ParseChat(std::string_view body);
Result<Call> ParseCompletion(std::string_view body);

}  // namespace tonnage::openai
