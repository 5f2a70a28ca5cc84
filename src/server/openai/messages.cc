#include "server/openai/messages.h"

#include <string_view>
#include <utility>

#include "server/openai/fields.h"

namespace tonnage::openai {
namespace {

struct Role {
  std::string_view name;
  std::string_view template_name;
  bool answers;  // the model's own
  bool is_tool;
};

constexpr Role kRoles[] = {
    {"system", "system", false, false},
    // The newer name of the same; few templates have heard of it.
    {"developer", "system", false, false},
    {"user", "user", false, false},
    {"assistant", "assistant", true, false},
    {"tool", "tool", false, true},
};

Result<Role> ReadRole(Fields& message) {
  ASSIGN_OR_RETURN(const std::string name, message.RequiredText("role"));
  for (const Role& role : kRoles) {
    if (role.name == name) return role;
  }
  const std::string path = message.Path("role");
  if (name == "function") {
    return Unsupported("`{}` \"function\" is not supported: use \"tool\"", path).About(path);
  }
  return WrongValue(path, "system, developer, user, assistant or tool", name);
}

Result<std::string> ReadPart(const Json& value, std::string path, bool answers,
                             std::vector<std::string>& unknown) {
  ASSIGN_OR_RETURN(Fields part, Fields::Of(value, path));
  ASSIGN_OR_RETURN(const std::string type, part.RequiredText("type"));
  const bool refusal = answers && type == "refusal";
  if (type != "text" && !refusal) {
    return Unsupported("`{}`: a part of this type is not supported, only \"text\"", path)
        .About(std::move(path));
  }
  ASSIGN_OR_RETURN(std::string text, part.RequiredText(refusal ? "refusal" : "text"));
  part.Find("prompt_cache_breakpoint");  // a hint
  part.AppendUnknown(unknown);
  return text;
}

// The text of a content: itself, or its parts on lines of their own.
Result<std::string> ReadContent(const Json& content, const std::string& path, bool answers,
                                std::vector<std::string>& unknown) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array() || content.empty()) {
    return WrongValue(path, "a string or an array of parts, not empty", content);
  }
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string part,
                     ReadPart(content[i], fmt::format("{}[{}]", path, i), answers, unknown));
    if (i > 0) text += '\n';
    text += part;
  }
  return text;
}

Result<Json> ReadToolCall(const Json& value, std::string path, std::vector<std::string>& unknown) {
  ASSIGN_OR_RETURN(Fields call, Fields::Of(value, std::move(path)));
  ASSIGN_OR_RETURN(const std::string id, call.RequiredText("id"));
  ASSIGN_OR_RETURN(const auto type, call.Text("type"));
  if (type.value_or("function") != "function") {
    const std::string at = call.Path("type");
    return Unsupported("`{}` is not supported, only \"function\"", at).About(at);
  }
  ASSIGN_OR_RETURN(const Json* named, call.Required("function"));
  ASSIGN_OR_RETURN(Fields function, Fields::Of(*named, call.Path("function")));
  ASSIGN_OR_RETURN(const std::string name, function.RequiredText("name"));
  ASSIGN_OR_RETURN(const std::string arguments, function.RequiredText("arguments"));
  function.AppendUnknown(unknown);
  call.AppendUnknown(unknown);
  // The model wrote them, and may have done so badly: then they stay the text that they are.
  Result<Json> parsed = ParseJson(arguments, {.depth = 32, .values = 1 << 16});
  Json given = parsed.ok() && parsed->is_object() ? std::move(*parsed) : Json(arguments);
  return Json{{"id", id},
              {"type", "function"},
              {"function", Json{{"name", name}, {"arguments", std::move(given)}}}};
}

Status ReadToolCalls(Fields& message, Json& out, std::vector<std::string>& unknown) {
  const Json* calls = message.Find("tool_calls");
  if (calls == nullptr) return {};
  const std::string path = message.Path("tool_calls");
  if (!calls->is_array()) return WrongValue(path, "an array", *calls);
  for (std::size_t i = 0; i < calls->size(); ++i) {
    ASSIGN_OR_RETURN(Json call, ReadToolCall((*calls)[i], fmt::format("{}[{}]", path, i), unknown));
    out["tool_calls"].push_back(std::move(call));
  }
  return {};
}

// What only the model's own messages have.
Status ReadAnswer(Fields& message, Json& out, std::vector<std::string>& unknown) {
  for (const char* field : {"function_call", "audio"}) {
    if (message.Find(field) == nullptr) continue;
    const std::string path = message.Path(field);
    return Unsupported("`{}` is not supported: leave it out, or use tool_calls", path).About(path);
  }
  RETURN_IF_ERROR(ReadToolCalls(message, out, unknown));
  ASSIGN_OR_RETURN(const auto refusal, message.Text("refusal"));
  if (refusal && !out.contains("content")) out["content"] = *refusal;
  for (const char* field : {"reasoning_content", "reasoning"}) {
    ASSIGN_OR_RETURN(const auto reasoning, message.Text(field));
    if (reasoning) out["reasoning_content"] = *reasoning;
  }
  // What clients send back as they got it.
  message.Find("annotations");
  return {};
}

Result<Json> ReadMessage(const Json& value, std::string path, std::vector<std::string>& unknown) {
  ASSIGN_OR_RETURN(Fields message, Fields::Of(value, std::move(path)));
  ASSIGN_OR_RETURN(const Role role, ReadRole(message));
  Json out = {{"role", role.template_name}};
  if (const Json* content = message.Find("content")) {
    ASSIGN_OR_RETURN(out["content"],
                     ReadContent(*content, message.Path("content"), role.answers, unknown));
  }
  if (role.answers) RETURN_IF_ERROR(ReadAnswer(message, out, unknown));
  if (role.is_tool) {
    ASSIGN_OR_RETURN(out["tool_call_id"], message.RequiredText("tool_call_id"));
  }
  ASSIGN_OR_RETURN(const auto name, message.Text("name"));
  if (name) out["name"] = *name;
  if (!out.contains("content")) {
    if (!out.contains("tool_calls")) return message.Required("content").error();
    out["content"] = "";  // templates write it without asking
  }
  message.AppendUnknown(unknown);
  return out;
}

}  // namespace

Result<Json> ReadMessages(const Json& messages, std::vector<std::string>& unknown) {
  if (!messages.is_array() || messages.empty()) {
    return WrongValue("messages", "an array of at least one message", messages);
  }
  Json out = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSIGN_OR_RETURN(Json message,
                     ReadMessage(messages[i], fmt::format("messages[{}]", i), unknown));
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace tonnage::openai
