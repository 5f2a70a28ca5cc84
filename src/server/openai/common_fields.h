// What chat and completion requests have in common.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "server/openai/call.h"
#include "server/openai/fields.h"

namespace tonnage::openai {

// A body as an object, within what a request may hold.
Result<Json> ParseBody(std::string_view body);

// Everything of `call` that both protocols spell alike, and `request`'s sampling, stop strings and
// end.
Status ReadCommon(Fields& body, Call& call, TextRequest& request);

}  // namespace tonnage::openai
