#include <algorithm>
#include <utility>

#include "server/openai/call.h"
#include "server/openai/common_fields.h"
#include "server/openai/fields.h"
#include "server/openai/messages.h"

namespace tonnage::openai {
namespace {

Status ReadMaxTokens(Fields& body, TextRequest& request) {
  ASSIGN_OR_RETURN(request.max_tokens, body.Whole("max_completion_tokens", 1, INT64_MAX));
  ASSIGN_OR_RETURN(const auto older, body.Whole("max_tokens", 1, INT64_MAX));
  if (request.max_tokens && older && *older != *request.max_tokens) {
    return InvalidArgument("`max_tokens` and `max_completion_tokens` differ: give one of them")
        .About("max_tokens");
  }
  if (older) request.max_tokens = older;
  return {};
}

Status ReadLogprobs(Fields& body, Call& call, TextRequest& request) {
  ASSIGN_OR_RETURN(call.logprobs, body.Flag("logprobs", false));
  ASSIGN_OR_RETURN(const auto top, body.Whole("top_logprobs", 0, kMaxTopLogprobs));
  if (call.logprobs) {
    request.logprobs = top.value_or(0);
  } else if (top.value_or(0) > 0) {
    return InvalidArgument("`top_logprobs` needs `logprobs` to be true").About("top_logprobs");
  }
  return {};
}

// What the request has beside the messages for the model's template.
Status ReadTemplateVariables(Fields& body, Call& call, Json& variables) {
  if (const Json* given = body.Find("chat_template_kwargs")) {
    if (!given->is_object()) return WrongValue("chat_template_kwargs", "an object", *given);
    for (const char* field : {"messages", "tools"}) {
      if (!given->contains(field)) continue;
      const std::string path = fmt::format("chat_template_kwargs.{}", field);
      return Unsupported("`{}` has a field of its own: `{}`", path, field).About(path);
    }
    variables = *given;
  }
  ASSIGN_OR_RETURN(const auto effort, body.Text("reasoning_effort"));
  if (effort) {
    static constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium",
                                                    "high", "xhigh",   "max"};
    if (std::find(std::begin(kEfforts), std::end(kEfforts), *effort) == std::end(kEfforts)) {
      return WrongValue("reasoning_effort", "none, minimal, low, medium, high, xhigh or max",
                        *effort);
    }
    if (*effort != "none") {  // which a model without reasoning honours, too
      call.template_fields.push_back({"reasoning_effort", {"reasoning_effort", "enable_thinking"}});
    }
    variables.emplace("reasoning_effort", *effort);
    variables.emplace("enable_thinking", *effort != "none");
  }
  if (const Json* documents = body.Find("documents")) {
    if (!documents->is_array()) return WrongValue("documents", "an array", *documents);
    if (!documents->empty()) call.template_fields.push_back({"documents", {"documents"}});
    variables["documents"] = *documents;
  }
  ASSIGN_OR_RETURN(const bool prompts_answer, body.Flag("add_generation_prompt", true));
  if (!prompts_answer) {
    call.template_fields.push_back({"add_generation_prompt", {"add_generation_prompt"}});
    variables["add_generation_prompt"] = false;
  }
  return {};
}

}  // namespace

Result<Call> ParseChat(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseBody(text));
  Fields body(json, "");
  Call call{.kind = Call::Kind::kChat};
  TextRequest request;
  RETURN_IF_ERROR(ReadCommon(body, call, request));
  RETURN_IF_ERROR(ReadMaxTokens(body, request));
  RETURN_IF_ERROR(ReadLogprobs(body, call, request));
  RETURN_IF_ERROR(ReadTemplateVariables(body, call, request.template_variables));
  ASSIGN_OR_RETURN(const Json* messages, body.Required("messages"));
  ASSIGN_OR_RETURN(request.messages, ReadMessages(*messages, call.unknown_fields));
  call.prompts.push_back(std::move(request));
  body.AppendUnknown(call.unknown_fields);
  return call;
}

}  // namespace tonnage::openai
