// One HTTP GET at a time over libcurl, on a connection that is kept for the next. Redirects are
// followed here rather than by libcurl, so that a token goes to the origin it was given for and to
// nobody that this origin points at. Nothing waits for ever: a connection must come about, and
// bytes must move. An object is for one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tonnage::hub {

struct HttpRequest {
  std::string url;
  std::string token = {};  // sent as a bearer token to the origin of `url` only; may be empty
  struct Range {
    Bytes first, last;  // both included
  };
  std::optional<Range> range = {};
};

struct HttpHead {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers = {};  // by lower-case name

  // Empty where there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpLimits {
  int connect_seconds = 20;
  int stall_seconds = 10;  // without a byte
};

class HttpClient {
 public:
  // Gets the pieces of the body of an answer with a status of 200 to 299; false ends the exchange.
  using BodySink = std::function<bool(const HttpHead& head, std::span<const std::uint8_t> piece)>;

  // `stop`, which outlives the client, ends whatever is under way once it is true.
  HttpClient(const HttpLimits& limits, const std::atomic<bool>& stop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  const std::atomic<bool>& stop() const { return stop_; }

  // The head of the final answer, whatever its status. Unavailable when there is none or the body
  // breaks off; Cancelled when `stop` or `sink` ended it.
  Result<HttpHead> Get(const HttpRequest& request, const BodySink& sink);

 private:
  struct Exchange;
  Status Perform(const std::string& url, const HttpRequest& request, bool with_token,
                 Exchange& exchange);

  const std::atomic<bool>& stop_;
  HttpLimits limits_;
  std::unique_ptr<void, void (*)(void*)> curl_;
};

// "https://host:443" of a URL: what has to be the same for a token to be sent along. Unreadable
// when it is no http or https URL.
Result<std::string> UrlOrigin(const std::string& url);

// Where a redirect leads: `location` may be relative. Refused: another scheme than http and https,
// and from https to http.
Result<std::string> RedirectTarget(const std::string& from, const std::string& location);

}  // namespace tonnage::hub
