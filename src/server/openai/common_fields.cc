#include "server/openai/common_fields.h"

#include <charconv>
#include <string>
#include <utility>

#include "server/openai/unsupported.h"

namespace tonnage::openai {
namespace {

// Room for the longest conversations and prompts of token ids; a hundred megabytes of memory.
constexpr JsonLimits kBodyLimits = {.depth = 64, .values = 1 << 20};

Status ReadStop(Fields& body, TextRequest& request) {
  const Json* stop = body.Find("stop");
  if (stop == nullptr) return {};
  if (stop->is_string()) {
    request.stop = {stop->get<std::string>()};
  } else if (stop->is_array()) {
    for (const Json& text : *stop) {
      if (!text.is_string()) {
        return WrongValue(fmt::format("stop[{}]", request.stop.size()), "a string", text);
      }
      request.stop.push_back(text.get<std::string>());
    }
  } else {
    return WrongValue("stop", "a string or an array of strings", *stop);
  }
  if (const auto made = StopStrings::Make(request.stop); !made.ok()) return made.error();
  return {};
}

// {"50256": -100}: token ids as keys.
Status ReadLogitBias(Fields& body, SamplingParams& sampling) {
  const Json* biases = body.Find("logit_bias");
  if (biases == nullptr) return {};
  if (!biases->is_object()) return WrongValue("logit_bias", "an object", *biases);
  for (const auto& [key, bias] : biases->items()) {
    std::int32_t token = 0;
    const char* end = key.data() + key.size();
    const auto [at, error] = std::from_chars(key.data(), end, token);
    if (error != std::errc() || at != end || token < 0) {
      return WrongValue("logit_bias", "an object whose keys are token ids", key);
    }
    if (!bias.is_number() || !(bias.get<double>() >= -100 && bias.get<double>() <= 100)) {
      return WrongValue("logit_bias." + key, "a number from -100 to 100", bias);
    }
    sampling.logit_bias.push_back({token, bias.get<float>()});
  }
  return {};
}

// A seed is any whole number: what its bits say is as good as any.
Status ReadSeed(Fields& body, SamplingParams& sampling) {
  const Json* seed = body.Find("seed");
  if (seed == nullptr) return {};
  if (seed->is_number_unsigned()) {
    sampling.seed = seed->get<std::uint64_t>();
    return {};
  }
  ASSIGN_OR_RETURN(const auto whole, body.Whole("seed", INT64_MIN, INT64_MAX));
  sampling.seed = static_cast<std::uint64_t>(*whole);
  return {};
}

Status ReadSampling(Fields& body, SamplingParams& sampling) {
  struct Row {
    const char* field;
    double low, high;
    double* value;
  };
  const Row rows[] = {
      {"temperature", 0, 2, &sampling.temperature},
      {"top_p", 0, 1, &sampling.top_p},
      {"presence_penalty", -2, 2, &sampling.presence_penalty},
      {"frequency_penalty", -2, 2, &sampling.frequency_penalty},
      {"min_p", 0, 1, &sampling.min_p},
      {"typical_p", 0, 1, &sampling.typical_p},
      {"repetition_penalty", 0.01, 100, &sampling.repetition_penalty},
  };
  for (const Row& row : rows) {
    ASSIGN_OR_RETURN(const auto value, body.Number(row.field, row.low, row.high));
    if (value) *row.value = *value;
  }
  ASSIGN_OR_RETURN(const auto top_k, body.Whole("top_k", -1, INT32_MAX));
  if (top_k) sampling.top_k = std::max<std::int64_t>(0, *top_k);  // -1 and 0 both mean off
  ASSIGN_OR_RETURN(const auto last_n, body.Whole("repeat_last_n", -1, INT32_MAX));
  if (last_n) sampling.repeat_last_n = *last_n;
  RETURN_IF_ERROR(ReadSeed(body, sampling));
  return ReadLogitBias(body, sampling);
}

Status ReadStream(Fields& body, Call& call) {
  ASSIGN_OR_RETURN(call.stream, body.Flag("stream", false));
  const Json* value = body.Find("stream_options");
  if (value == nullptr) return {};
  if (!call.stream) {
    return InvalidArgument("`stream_options` needs `stream` to be true").About("stream_options");
  }
  ASSIGN_OR_RETURN(Fields options, Fields::Of(*value, "stream_options"));
  ASSIGN_OR_RETURN(call.include_usage, options.Flag("include_usage", false));
  RETURN_IF_ERROR(RefuseUnsupportedStreamOptions(options));
  options.AppendUnknown(call.unknown_fields);
  return {};
}

Status ReadResponseFormat(Fields& body) {
  const Json* value = body.Find("response_format");
  if (value == nullptr) return {};
  ASSIGN_OR_RETURN(Fields format, Fields::Of(*value, "response_format"));
  ASSIGN_OR_RETURN(const std::string type, format.RequiredText("type"));
  if (type == "text") return {};
  return Unsupported(
             "`response_format` of this type is not supported: use \"text\" and ask for the form "
             "in the prompt")
      .About("response_format");
}

}  // namespace

Result<Json> ParseBody(std::string_view body) {
  Result<Json> parsed = ParseJson(body, kBodyLimits);
  if (!parsed.ok()) return InvalidArgument("the body: {}", parsed.error().message());
  if (!parsed->is_object()) {
    return InvalidArgument("the body must be a JSON object, not {}", parsed->type_name());
  }
  return parsed;
}

Status ReadCommon(Fields& body, Call& call, TextRequest& request) {
  ASSIGN_OR_RETURN(call.model, body.RequiredText("model"));
  ASSIGN_OR_RETURN(const auto choices, body.Whole("n", 1, kMaxAnswers));
  call.choices = call.candidates = static_cast<int>(choices.value_or(1));
  RETURN_IF_ERROR(ReadSampling(body, request.sampling));
  RETURN_IF_ERROR(ReadStop(body, request));
  RETURN_IF_ERROR(ReadStream(body, call));
  RETURN_IF_ERROR(ReadResponseFormat(body));
  ASSIGN_OR_RETURN(request.ignore_end, body.Flag("ignore_eos", false));
  RETURN_IF_ERROR(RefuseUnsupported(call.kind, body));
  return {};
}

}  // namespace tonnage::openai
