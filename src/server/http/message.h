// A request as a handler sees it, and the way to answer it. No HTTP library's type appears outside
// server/http.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tonnage::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET"
  std::string path;    // "/v1/models", percent-decoded, without the query
  std::string query;   // "a=1&b=2", as sent
  Headers headers = {};
  std::string body = {};

  // The first header of that name, ignoring case.
  std::optional<std::string_view> Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
};

// Answers one request: either Reply once, or Begin, Write as often as needed, End. Safe from any
// thread; may outlive the connection, and then does nothing. Destroying the last reference without
// an answer sends a 500, or cuts a begun stream.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void Reply(Response response) = 0;
  // Starts a streamed answer; `head.body` is its first piece.
  virtual void Begin(Response head) = 0;
  virtual void Write(std::string_view piece) = 0;
  virtual void End() = 0;

  // Bytes written that the client has not taken yet: what a producer looks at before it makes more.
  virtual std::size_t pending_bytes() const = 0;
  // Whether the client has gone.
  virtual bool gone() const = 0;
  // Calls back once, when fewer than `bytes` are pending or the client has gone: at once, or later
  // on a server thread. For use before End, one wait at a time.
  virtual void WhenBelow(std::size_t bytes, std::function<void()> callback) = 0;
  // Called once, on a server thread, when the client goes before the answer is complete; at once if
  // it has gone already.
  virtual void OnGone(std::function<void()> callback) = 0;
};

// Called on a server thread for every request; must not block.
using Handler = std::function<void(Request request, std::shared_ptr<Responder> responder)>;

// What a protocol offers, for a server to mount.
struct Route {
  std::string method;  // "POST"
  std::string path;    // "/v1/models"; one that ends with "/*" stands for everything below it
  Handler handler;
};

// Makes the body of an error that the HTTP layer itself has to answer (too large, too slow,
// malformed) in the protocol's shape; path is empty when not even that was readable.
using ErrorBody =
    std::function<Response(int status, std::string_view message, std::string_view path)>;

}  // namespace tonnage::http
