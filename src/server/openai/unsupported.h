// The fields that OpenAI's protocol or its common extensions have and that are not supported: each
// is accepted with values that ask for nothing, and refused by name with any other.
#pragma once

#include "base/result.h"
#include "server/openai/call.h"
#include "server/openai/fields.h"

namespace tonnage::openai {

Status RefuseUnsupported(Call::Kind kind, Fields& body);
// The same of `stream_options`.
Status RefuseUnsupportedStreamOptions(Fields& options);

}  // namespace tonnage::openai
