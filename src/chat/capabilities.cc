#include "chat/capabilities.h"

#include <optional>

namespace tonnage::chat {
namespace {

// Words that no template says by itself.
constexpr const char* kUser = "probe-user-7319";
constexpr const char* kAssistant = "probe-assistant-7319";
constexpr const char* kSystem = "probe-system-7319";
constexpr const char* kTool = "probe_tool_7319";
constexpr const char* kCalled = "probe_called_7319";
constexpr const char* kArgument = "probe-argument-7319";
constexpr const char* kAnswer = "probe-answer-7319";
constexpr const char* kPart = "probe-part-7319";
constexpr const char* kReasoning = "probe-reasoning-7319";

Json Message(const char* role, const Json& content) {
  return {{"role", role}, {"content", content}};
}

Json Tool(const char* name) {
  const Json parameters = {
      {"type", "object"},
      {"properties", {{"city", {{"type", "string"}, {"description", "A city"}}}}},
      {"required", Json::array({"city"})}};
  return {{"type", "function"},
          {"function", {{"name", name}, {"description", "A probe"}, {"parameters", parameters}}}};
}

// An assistant's call. Some templates want the arguments as an object, some as its text.
Json CallMessage(const Json& arguments) {
  Json message = Message("assistant", "");
  message["tool_calls"] =
      Json::array({{{"id", "call00001"},
                    {"type", "function"},
                    {"function", {{"name", kCalled}, {"arguments", arguments}}}}});
  return message;
}

Json AnswerMessage() {
  Json message = Message("tool", kAnswer);
  message["tool_call_id"] = "call00001";
  message["name"] = kCalled;
  return message;
}

class Prober {
 public:
  explicit Prober(const Template& chat_template) : template_(chat_template) {
    options_.now = {.year = 2026, .month = 1, .day = 1};
    options_.limits = {
        .steps = 2'000'000, .memory_bytes = 16 * kMiB, .output_bytes = kMiB, .depth = 500};
  }

  // The rendering, or nothing when the template refuses the conversation.
  std::optional<std::string> Render(const Json& messages,
                                    const Json& extra = Json::object()) const {
    Json variables = {{"messages", messages}, {"tools", nullptr},
                      {"documents", nullptr}, {"bos_token", "<s>"},
                      {"eos_token", "</s>"},  {"unk_token", "<unk>"},
                      {"pad_token", "<pad>"}, {"add_generation_prompt", true}};
    for (const auto& [key, value] : extra.items()) variables[key] = value;
    auto rendered = template_.Render(variables, options_);
    if (!rendered.ok()) return std::nullopt;
    return std::move(*rendered);
  }

  bool Shows(const char* word, const Json& messages, const Json& extra = Json::object()) const {
    const auto text = Render(messages, extra);
    return text && text->find(word) != std::string::npos;
  }

  // Whether the rendering differs with one variable true and false.
  bool Switches(const char* name) const {
    const Json messages = Json::array({Message("user", kUser)});
    const auto on = Render(messages, {{name, true}});
    const auto off = Render(messages, {{name, false}});
    return on && off && *on != *off;
  }

 private:
  const Template& template_;
  RenderOptions options_;
};

}  // namespace

Capabilities DetectCapabilities(const Template& chat_template) {
  const Prober prober(chat_template);
  const Json user = Message("user", kUser);
  const Json system = Message("system", kSystem);
  const Json tools = {{"tools", Json::array({Tool(kTool)})}};
  Json reasoned = Message("assistant", kAssistant);
  reasoned["reasoning_content"] = kReasoning;
  const Json no_prompt = {{"add_generation_prompt", false}};

  Capabilities found;
  found.system_role = prober.Shows(kSystem, Json::array({system, user}));
  found.tools = prober.Shows(kTool, Json::array({user}), tools) ||
                prober.Shows(kTool, Json::array({system, user}), tools);
  const Json object = {{"city", kArgument}};
  for (const Json& arguments : {object, Json(object.dump())}) {
    const Json conversation = Json::array({user, CallMessage(arguments), AnswerMessage()});
    // Some templates name the call by its id, so what it is called with counts.
    found.tool_calls =
        found.tool_calls ||
        prober.Shows(kArgument, Json::array({user, CallMessage(arguments)}), tools) ||
        prober.Shows(kArgument, conversation, tools);
    found.tool_responses = found.tool_responses || prober.Shows(kAnswer, conversation, tools);
  }
  // A list printed as it is shows the word too, but with the part's other key.
  const Json part = {{"type", "text"}, {"text", kPart}};
  const Json parts = Json::array({Message("user", Json::array({part}))});
  found.content_parts = prober.Shows(kPart, parts) && !prober.Shows("'type'", parts);
  found.reasoning_content = prober.Shows(kReasoning, Json::array({user, reasoned}), no_prompt);
  found.thinking_switch = prober.Switches("enable_thinking");
  found.generation_prompt = prober.Switches("add_generation_prompt");
  return found;
}

}  // namespace tonnage::chat
