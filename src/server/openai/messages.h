// A conversation as a chat request has it, made what templates read: roles they know, content as
// one string, a tool call's arguments as an object.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tonnage::openai {

// Appends the paths of fields that nobody knows to `unknown`.
Result<Json> ReadMessages(const Json& messages, std::vector<std::string>& unknown);

}  // namespace tonnage::openai
