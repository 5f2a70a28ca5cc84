// OpenAI's protocol as routes of a server: /v1/chat/completions, /v1/completions, /v1/models and
// /v1/models/{id}. Handlers only translate; dispatchers' threads do the work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"
#include "service/models.h"

namespace tonnage::openai {

// What the routes stand on; its functions may be called on any thread.
struct Context {
  std::shared_ptr<const ModelDirectory> models = nullptr;
  std::string version = {};                         // of the program
  std::function<std::int64_t()> unix_s = {};        // seconds since 1970
  std::function<std::uint64_t()> random = {};       // for ids
  std::function<void(std::string_view)> warn = {};  // for the log
};

std::vector<http::Route> Routes(const Context& context);

}  // namespace tonnage::openai
