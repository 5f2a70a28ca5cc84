#include "server/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "base/json.h"
#include "server/openai/errors.h"

namespace tonnage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRequestIdBytes = 128;
constexpr size_t kMaxLoggedPathBytes = 200;
constexpr int kClientGone = 499;  // in the log only: nobody is there to be told

}  // namespace

// Passes an answer on with the headers that every answer gets, and logs it when it is complete.
class App::Answer final : public http::Responder {
 public:
  Answer(std::shared_ptr<Journal> journal, const http::Request& request, http::Headers headers,
         std::string id, bool counted, std::shared_ptr<http::Responder> inner)
      : journal_(std::move(journal)),
        counted_(counted),
        id_(std::move(id)),
        what_(fmt::format("{} {}", DumpJson(request.method),
                          DumpJson(request.path.substr(0, kMaxLoggedPathBytes)))),
        headers_(std::move(headers)),
        inner_(std::move(inner)) {
    headers_.emplace_back("X-Request-Id", id_);
    if (counted_) journal_->in_flight.fetch_add(1);
  }
  ~Answer() override { Complete(); }

  void Reply(http::Response response) override {
    Pass(response);
    inner_->Reply(std::move(response));
    Complete();
  }
  void Begin(http::Response head) override {
    Pass(head);
    inner_->Begin(std::move(head));
  }
  void Write(std::string_view piece) override { inner_->Write(piece); }
  void End() override {
    inner_->End();
    Complete();
  }
  size_t pending_bytes() const override { return inner_->pending_bytes(); }
  bool gone() const override { return inner_->gone(); }
  void WhenBelow(size_t bytes, std::function<void()> callback) override {
    inner_->WhenBelow(bytes, std::move(callback));
  }
  void OnGone(std::function<void()> callback) override { inner_->OnGone(std::move(callback)); }

 private:
  void Pass(http::Response& response) {
    status_ = response.status;
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  }
  void Complete() {
    if (completed_.exchange(true)) return;
    if (journal_->log) {
      const std::chrono::duration<double> seconds = Clock::now() - begun_;
      journal_->log(fmt::format("{} {} {:.3f} s {}", what_,
                                inner_->gone() ? kClientGone : status_.load(), seconds.count(),
                                id_));
    }
    if (counted_) journal_->in_flight.fetch_sub(1);
  }

  const std::shared_ptr<Journal> journal_;
  const bool counted_;
  const std::string id_;
  const std::string what_;
  const Clock::time_point begun_ = Clock::now();
  http::Headers headers_;
  const std::shared_ptr<http::Responder> inner_;
  std::atomic<int> status_{500};  // what a dropped request gets
  std::atomic<bool> completed_{false};
};

App::App(AppOptions options, std::vector<http::Route> routes)
    : options_(std::move(options)),
      router_(std::move(routes)),
      keys_(options_.api_keys),
      cors_(options_.cors_origins),
      journal_(std::make_shared<Journal>()) {
  journal_->log = options_.log;
}

http::Handler App::handler() {
  return [this](http::Request request, std::shared_ptr<http::Responder> responder) {
    Handle(std::move(request), std::move(responder));
  };
}

bool App::IsOpen(std::string_view path) const {
  return std::find(options_.open_paths.begin(), options_.open_paths.end(), path) !=
         options_.open_paths.end();
}

// The client's own where it is a plain word, so that it finds it again in the log.
std::string App::RequestId(const http::Request& request) const {
  const std::string_view given = request.Header("X-Request-Id").value_or("");
  const bool plain = std::all_of(given.begin(), given.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (plain && !given.empty() && given.size() <= kMaxRequestIdBytes) return std::string(given);
  return fmt::format("req-{:016x}", options_.random());
}

void App::Handle(http::Request request, std::shared_ptr<http::Responder> responder) {
  const bool open = IsOpen(request.path);
  const bool turned_away = draining() && !open;
  auto answer =
      std::make_shared<Answer>(journal_, request, cors_.AnswerHeaders(request), RequestId(request),
                               !open && !turned_away, std::move(responder));
  const auto refuse = [&](int status, std::string_view message, http::Headers headers = {}) {
    http::Response response = openai::ErrorResponse(status, message);
    response.headers = std::move(headers);
    answer->Reply(std::move(response));
  };
  if (!cors_.Admit(request)) {
    return refuse(403, "pages of this origin may not use the server: see --cors-origin");
  }
  if (Cors::IsPreflight(request)) {
    return answer->Reply({.status = 204, .headers = cors_.PreflightHeaders(request)});
  }
  if (!open && !keys_.Admit(request)) {
    return refuse(401,
                  "this server wants an API key: send `Authorization: Bearer KEY` or `x-api-key`",
                  {{"WWW-Authenticate", "Bearer"}});
  }
  if (turned_away) {
    return refuse(503, "the server is shutting down: send the request to another, or later",
                  {{"Retry-After", "5"}});
  }
  const Router::Match match = router_.Find(request.method, request.path);
  if (match.handler != nullptr) return (*match.handler)(std::move(request), std::move(answer));
  if (!match.allowed.empty()) {
    return refuse(405,
                  fmt::format("{} is not for this path, but {} is", request.method, match.allowed),
                  {{"Allow", match.allowed}});
  }
  refuse(404, fmt::format("nothing is at {}", request.path.substr(0, kMaxLoggedPathBytes)));
}

}  // namespace tonnage
