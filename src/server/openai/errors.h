// Errors in the shape of OpenAI's protocol: {"error": {"message", "type", "param", "code"}}. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/token_engine.h"
#include "server/http/message.h"

namespace tonnage::openai {

// One line of JSON.
std::string ErrorJson(const Error& error);
// The same as an answer, with the status of the error's code.
http::Response ErrorResponse(const Error& error);
// With when to try again, where that helps.
http::Response ErrorResponse(const Error& error, const TokenEngine& engine);
// Of what HTTP itself or the server around the protocol refuses: 401, 404, 405, 413, ...
http::Response ErrorResponse(int status, std::string_view message);
// No model of that name: 404.
http::Response ModelNotFound(const Error& error);

}  // namespace tonnage::openai
