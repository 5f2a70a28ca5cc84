// A responder for tests of handlers: keeps what it is told.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "server/http/message.h"

namespace tonnage {

class FakeResponder final : public http::Responder {
 public:
  void Reply(http::Response response) override {
    std::lock_guard lock(mutex_);
    response_ = std::move(response);
    changed_.notify_all();
  }
  void Begin(http::Response head) override {
    std::lock_guard lock(mutex_);
    response_ = std::move(head);
  }
  void Write(std::string_view piece) override {
    std::lock_guard lock(mutex_);
    response_->body += piece;
  }
  void End() override { changed_.notify_all(); }
  size_t pending_bytes() const override { return 0; }
  bool gone() const override { return gone_; }
  void WhenBelow(size_t, std::function<void()> callback) override { callback(); }
  void OnGone(std::function<void()>) override {}

  void Leave() { gone_ = true; }
  // The answer, waiting for it.
  http::Response Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return response_.has_value(); });
    return response_.value_or(http::Response{.status = 0});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<http::Response> response_;
  bool gone_ = false;
};

inline std::string HeaderOf(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace tonnage
