// An HTTP/1.1 server: TCP, TLS or a Unix socket, keep-alive, streamed answers, and limits on
// everything a client can make large, slow or many. It owns its threads and connections. Start,
// Drain and the destructor belong to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "server/http/message.h"

namespace tonnage::http {

struct Limits {
  Bytes header_bytes = 32 * kKiB;
  Bytes body_bytes = 32 * kMiB;
  // Of all requests under way, from a body's first byte until its answer is written. What one body
  // may have is allowed in any case.
  Bytes all_bodies_bytes = 256 * kMiB;
  std::int64_t header_ms = 10'000;      // for a whole request head, once its first byte is here
  std::int64_t body_grace_ms = 10'000;  // a body may take this long, and
  Bytes body_bytes_per_s = 4 * kKiB;    // one second more for each of these
  std::int64_t idle_ms = 75'000;        // a kept-alive connection without a request
  std::int64_t write_ms = 60'000;       // a client that takes nothing
  std::int64_t connections = 4096;
};

struct Options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;       // 0: any free one
  std::string unix_socket;      // a path; then address and port do not count
  std::string tls_certificate;  // PEM files; both or neither
  std::string tls_key;
  int threads = 2;
  Limits limits;
};

class Server {
 public:
  // Listens before it returns. Unavailable when the address cannot be had.
  static Result<std::unique_ptr<Server>> Start(Options options, Handler handler,
                                               ErrorBody error_body);
  ~Server();

  // "http://127.0.0.1:8080", "https://...", "unix:/run/tonnage.sock".
  const std::string& url() const;
  std::int64_t connections() const;

  // Takes no new connection and no new request, waits until the answers in progress are complete or
  // the time is over, then closes everything. Answers how many were cut.
  std::int64_t Drain(std::int64_t deadline_ms);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tonnage::http
