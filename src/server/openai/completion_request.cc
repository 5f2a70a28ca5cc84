#include <algorithm>
#include <utility>

#include "server/openai/call.h"
#include "server/openai/common_fields.h"
#include "server/openai/fields.h"

namespace tonnage::openai {
namespace {

constexpr std::int64_t kDefaultMaxTokens = 16;

Result<std::vector<TokenId>> ReadIds(const Json& ids, const std::string& path) {
  auto read = IdsFromJson(ids);
  if (!read.ok()) return read.error().In(fmt::format("`{}`", path)).About(path);
  if (read->empty()) return WrongValue(path, "an array of at least one token id", ids);
  return read;
}

// A string, an array of strings, an array of token ids, or an array of those.
Status ReadPrompts(const Json& value, const TextRequest& settings,
                   std::vector<TextRequest>& prompts) {
  const auto add = [&]() -> TextRequest& { return prompts.emplace_back(settings); };
  if (value.is_string()) {
    add().prompt = value.get<std::string>();
    return {};
  }
  if (!value.is_array() || value.empty()) {
    return WrongValue("prompt", "a string, an array of strings, or token ids", value);
  }
  if (value.front().is_number()) {
    ASSIGN_OR_RETURN(add().prompt_ids, ReadIds(value, "prompt"));
    return {};
  }
  if (value.size() > static_cast<std::size_t>(kMaxAnswers)) {
    return InvalidArgument("`prompt` has {} prompts, but may have {}", value.size(), kMaxAnswers)
        .About("prompt");
  }
  for (const Json& one : value) {
    const std::string path = fmt::format("prompt[{}]", prompts.size());
    if (one.is_string()) {
      add().prompt = one.get<std::string>();
    } else if (one.is_array()) {
      ASSIGN_OR_RETURN(add().prompt_ids, ReadIds(one, path));
    } else {
      return WrongValue(path, "a string or an array of token ids", one);
    }
  }
  return {};
}

Status ReadLogprobs(Fields& body, Call& call, TextRequest& request) {
  ASSIGN_OR_RETURN(request.logprobs, body.Whole("logprobs", 0, kMaxTopLogprobs));
  call.logprobs = request.logprobs.has_value();
  if (call.logprobs && call.echo) {
    return Unsupported("`logprobs` with `echo` is not supported: they are of the answer only")
        .About("logprobs");
  }
  return {};
}

Status ReadBestOf(Fields& body, Call& call, TextRequest& request) {
  ASSIGN_OR_RETURN(const auto best_of, body.Whole("best_of", 1, kMaxAnswers));
  if (!best_of) return {};
  call.candidates = static_cast<int>(*best_of);
  if (call.candidates < call.choices) {
    return InvalidArgument("`best_of` is {}, but must not be less than `n`, {}", call.candidates,
                           call.choices)
        .About("best_of");
  }
  if (call.candidates == call.choices) return {};
  if (call.stream) {
    return InvalidArgument("`best_of` greater than `n` cannot be streamed").About("best_of");
  }
  if (!request.logprobs) request.logprobs = 0;  // the best are the likeliest
  return {};
}

}  // namespace

Result<Call> ParseCompletion(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseBody(text));
  Fields body(json, "");
  Call call{.kind = Call::Kind::kCompletion};
  TextRequest request;
  RETURN_IF_ERROR(ReadCommon(body, call, request));
  ASSIGN_OR_RETURN(const auto max_tokens, body.Whole("max_tokens", 1, INT64_MAX));
  request.max_tokens = max_tokens.value_or(kDefaultMaxTokens);
  ASSIGN_OR_RETURN(call.echo, body.Flag("echo", false));
  RETURN_IF_ERROR(ReadLogprobs(body, call, request));
  RETURN_IF_ERROR(ReadBestOf(body, call, request));
  ASSIGN_OR_RETURN(const Json* prompt, body.Required("prompt"));
  RETURN_IF_ERROR(ReadPrompts(*prompt, request, call.prompts));
  const auto answers = static_cast<std::int64_t>(call.prompts.size()) * call.candidates;
  if (answers > kMaxAnswers) {
    return InvalidArgument("{} prompts with {} answers each, but one request may have {} answers",
                           call.prompts.size(), call.candidates, kMaxAnswers)
        .About(call.candidates > call.choices ? "best_of" : "n");
  }
  body.AppendUnknown(call.unknown_fields);
  return call;
}

}  // namespace tonnage::openai
