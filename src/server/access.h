// Who may use the server: API keys, and the web pages of other origins. Immutable; safe from any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/http/message.h"

namespace tonnage {

// Keys come as `Authorization: Bearer KEY` or `x-api-key: KEY`.
class ApiKeys {
 public:
  // No keys: everybody may.
  explicit ApiKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {}
  // Takes the same time for every wrong key of one length.
  bool Admit(const http::Request& request) const;

 private:
  std::vector<std::string> keys_;
};

// One key a line; empty lines and those that begin with # do not count. InvalidArgument for a key
// that no header could carry, or for none at all.
Result<std::vector<std::string>> ParseApiKeys(std::string_view text);

// Cross-origin requests, as browsers make them. A page of an origin that is neither the server's
// own nor allowed is refused, also where a browser would send its request without asking first.
class Cors {
 public:
  // "https://chat.example.org", or "*" for all.
  explicit Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  bool Admit(const http::Request& request) const;
  // What a browser asks before a request that is not simple.
  static bool IsPreflight(const http::Request& request);
  // For an answer to an admitted request.
  http::Headers AnswerHeaders(const http::Request& request) const;
  // For the answer to a preflight, beside those.
  http::Headers PreflightHeaders(const http::Request& request) const;

 private:
  bool Allows(std::string_view origin) const;

  std::vector<std::string> origins_;
};

}  // namespace tonnage
