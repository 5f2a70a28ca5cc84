// What must hold of a request parser for any bytes: a call within its bounds, or an error that can
// be sent.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "server/openai/call.h"
#include "server/openai/errors.h"

namespace tonnage::openai {

inline void CheckParser(Result<Call> (*parse)(std::string_view), std::string_view body) {
  const Result<Call> call = parse(body);
  if (!call.ok()) {
    const http::Response response = ErrorResponse(call.error());
    CHECK_EQ(response.status, 400);
    const auto json = ParseJson(response.body);
    CHECK(json.ok());
    CHECK(!(*json)["error"]["message"].get<std::string>().empty());
    return;
  }
  CHECK(!call->prompts.empty());
  CHECK_LE(call->choices, call->candidates);
  CHECK_LE(static_cast<std::int64_t>(call->prompts.size()) * call->candidates, kMaxAnswers);
  for (const TextRequest& request : call->prompts) {
    // Whatever the vocabulary, only a token of a bias can be wrong now.
    SamplingParams sampling = request.sampling;
    sampling.logit_bias.clear();
    CHECK(ValidateSampling(sampling, 1).ok());
    CHECK(StopStrings::Make(request.stop).ok());
    if (call->kind == Call::Kind::kChat) CHECK(request.messages.is_array());
  }
}

}  // namespace tonnage::openai
