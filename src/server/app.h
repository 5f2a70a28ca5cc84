// What stands between HTTP and the routes: request ids, the log, API keys, origins, the drain, and
// 404 and 405. Its handler may be called from any thread while the app lives; an answer may outlive
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/access.h"
#include "server/http/message.h"
#include "server/router.h"

namespace tonnage {

struct AppOptions {
  std::vector<std::string> api_keys = {};      // none: everybody may
  std::vector<std::string> cors_origins = {};  // beside the server's own
  // Paths that need no key and that are answered while the server drains: probes and metrics.
  std::vector<std::string> open_paths = {};
  std::function<std::uint64_t()> random = {};           // for ids
  std::function<void(std::string_view line)> log = {};  // one line a request
};

class App {
 public:
  App(AppOptions options, std::vector<http::Route> routes);

  http::Handler handler();

  // From now on requests are refused with 503, but for the open paths.
  void Drain() { draining_.store(true); }
  bool draining() const { return draining_.load(); }
  // Requests whose answers are not complete, open paths not counted.
  std::int64_t in_flight() const { return journal_->in_flight.load(); }

 private:
  class Answer;
  // What an answer needs when it is complete.
  struct Journal {
    std::function<void(std::string_view line)> log;
    std::atomic<std::int64_t> in_flight{0};
  };

  void Handle(http::Request request, std::shared_ptr<http::Responder> responder);
  bool IsOpen(std::string_view path) const;
  std::string RequestId(const http::Request& request) const;

  const AppOptions options_;
  const Router router_;
  const ApiKeys keys_;
  const Cors cors_;
  const std::shared_ptr<Journal> journal_;
  std::atomic<bool> draining_{false};
};

}  // namespace tonnage
