#include "server/openai/unsupported.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace tonnage::openai {
namespace {

// A field, the values that ask for nothing (a JSON array; null always does), and what to do.
struct Row {
  std::string_view field;
  std::string_view neutral;
  std::string_view advice;
};

// A hint or a label: any value is fine, because no answer depends on it.
constexpr std::string_view kAnyValue = "*";

constexpr Row kCommon[] = {
    // What a client says of itself, and of where answers may be kept.
    {"user", kAnyValue, ""},
    {"safety_identifier", kAnyValue, ""},
    {"metadata", kAnyValue, ""},
    {"prompt_cache_key", kAnyValue, ""},
    {"prompt_cache_options", kAnyValue, ""},
    {"prompt_cache_retention", kAnyValue, ""},
    {"cache_prompt", kAnyValue, ""},
    {"store", "[false]", "answers are not kept"},
    {"service_tier", R"(["auto", "default"])", "there is one tier"},
    {"priority", "[0]", "requests are served in the order in which they come"},
    {"id_slot", "[-1]", "slots are given out by the server"},
    // Ways to choose tokens that the sampler does not have.
    {"use_beam_search", "[false]", "answers are sampled; leave it out"},
    {"length_penalty", "[1]", "it belongs to beam search"},
    {"early_stopping", "[false]", "it belongs to beam search"},
    {"min_tokens", "[0]", "ban the end token with logit_bias instead"},
    {"stop_token_ids", "[[]]", "give the text in stop instead"},
    {"bad_words", "[[]]", "give the tokens in logit_bias instead"},
    {"allowed_token_ids", "[[]]", "give the tokens in logit_bias instead"},
    {"mirostat", "[0]", "use top_p or min_p"},
    {"tfs_z", "[1]", "use top_p or min_p"},
    {"dynatemp_range", "[0]", "use temperature"},
    {"xtc_probability", "[0]", "use top_p or min_p"},
    {"dry_multiplier", "[0]", "use repetition_penalty"},
    {"samplers", "[[]]", "the order of the filters is fixed"},
    {"n_predict", "[]", "use max_tokens"},
    // Other forms of the prompt and the answer.
    {"prompt_logprobs", "[0, false]", "log probabilities are of the answer only"},
    {"truncate_prompt_tokens", "[]", "a prompt is never cut: shorten it"},
    {"include_stop_str_in_output", "[false]", "the answer ends before the stop string"},
    {"skip_special_tokens", "[true]", "special tokens have no text in an answer"},
    {"spaces_between_special_tokens", "[true, false]", "special tokens have no text"},
    {"return_tokens_as_token_ids", "[false]", "use logprobs, which name each token's bytes"},
    {"return_token_ids", "[false]", "use /tokenize"},
    {"guided_json", "[]", "ask for the form in the prompt"},
    {"guided_regex", "[]", "ask for the form in the prompt"},
    {"guided_choice", "[[]]", "ask for the form in the prompt"},
    {"guided_grammar", "[]", "ask for the form in the prompt"},
    {"structured_outputs", "[{}]", "ask for the form in the prompt"},
    {"grammar", R"([""])", "ask for the form in the prompt"},
    {"json_schema", "[{}]", "ask for the form in the prompt"},
};

constexpr Row kChat[] = {
    {"tools", "[[]]", "describe the tools in a message and read the call from the text"},
    {"tool_choice", R"(["none", "auto"])", "there are no tools to choose from"},
    {"parallel_tool_calls", "[true, false]", "there are no tools to call"},
    {"functions", "[[]]", "describe the functions in a message and read the call from the text"},
    {"function_call", R"(["none", "auto"])", "there are no functions to call"},
    {"modalities", R"([["text"]])", "answers are text"},
    {"audio", "[]", "answers are text"},
    {"moderation", "[]", "nothing is moderated"},
    {"prediction", "[]", "leave it out: the answer is the same"},
    {"verbosity", R"(["medium"])", "ask for it in a message"},
    {"web_search_options", "[]", "nothing is searched"},
    {"best_of", "[1]", "use n, and choose by logprobs"},
    {"echo", "[false]", "use /v1/completions"},
    {"continue_final_message", "[false]", "use /v1/completions"},
    {"add_special_tokens", "[false]", "the template writes the special tokens"},
    {"chat_template", "[]", "the model's own template is used"},
    {"prompt", "[]", "use /v1/completions"},
    {"mm_processor_kwargs", "[{}]", "prompts are text"},
};

constexpr Row kCompletion[] = {
    {"suffix", R"([""])", "put all text into prompt"},
    {"messages", "[]", "use /v1/chat/completions"},
    {"max_completion_tokens", "[]", "use max_tokens"},
    {"add_special_tokens", "[true]", "give the prompt as token ids instead"},
};

constexpr Row kStreamOptions[] = {
    {"include_obfuscation", "[false]", "streams are not padded"},
    {"continuous_usage_stats", "[false]", "use include_usage"},
};

// Whether two values are the same to a reader: 1 and 1.0 are.
bool AsksForNothing(const Row& row, const Json& value) {
  if (row.neutral == kAnyValue) return true;
  const Json neutral = ParseJson(row.neutral).value();
  return std::find(neutral.begin(), neutral.end(), value) != neutral.end();
}

Status Refuse(std::span<const Row> rows, Fields& fields) {
  for (const Row& row : rows) {
    const Json* value = fields.Find(row.field);
    if (value == nullptr || AsksForNothing(row, *value)) continue;
    const std::string path = fields.Path(row.field);
    return Unsupported("`{}` is not supported with this value: {}", path, row.advice).About(path);
  }
  return {};
}

}  // namespace

Status RefuseUnsupported(Call::Kind kind, Fields& body) {
  RETURN_IF_ERROR(Refuse(kCommon, body));
  return kind == Call::Kind::kChat ? Refuse(kChat, body) : Refuse(kCompletion, body);
}

Status RefuseUnsupportedStreamOptions(Fields& options) { return Refuse(kStreamOptions, options); }

}  // namespace tonnage::openai
