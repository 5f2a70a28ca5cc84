// A client for tests of handlers: keeps what it is sent, and expects that in order.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/message.h"

namespace tonnage::http {

// Any thread.
class FakeResponder final : public Responder {
 public:
  void Reply(Response response) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(begun_ || ended_);
    response_ = std::move(response);
    ended_ = true;
    changed_.notify_all();
  }
  void Begin(Response head) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(begun_ || ended_);
    response_ = std::move(head);
    begun_ = true;
    changed_.notify_all();
  }
  void Write(std::string_view piece) override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(begun_ && !ended_) << piece;
    response_.body += piece;
    ++writes_;
    changed_.notify_all();
  }
  void End() override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(begun_ && !ended_);
    ended_ = true;
    changed_.notify_all();
  }
  std::size_t pending_bytes() const override {
    std::lock_guard lock(mutex_);
    return reads_ ? 0 : response_.body.size();
  }
  bool gone() const override {
    std::lock_guard lock(mutex_);
    return gone_;
  }
  void WhenBelow(std::size_t bytes, std::function<void()> callback) override {
    {
      std::lock_guard lock(mutex_);
      if (!gone_ && !reads_ && response_.body.size() >= bytes) {
        when_below_ = std::move(callback);
        return;
      }
    }
    callback();
  }
  void OnGone(std::function<void()> callback) override {
    {
      std::lock_guard lock(mutex_);
      if (!gone_) {
        on_gone_ = std::move(callback);
        return;
      }
    }
    callback();
  }

  // The client's side.
  void Leave() {
    std::function<void()> on_gone, when_below;
    {
      std::lock_guard lock(mutex_);
      gone_ = true;
      on_gone = std::exchange(on_gone_, nullptr);
      when_below = std::exchange(when_below_, nullptr);
    }
    if (on_gone) on_gone();
    if (when_below) when_below();
  }
  void Read(bool reads) {
    std::function<void()> callback;
    {
      std::lock_guard lock(mutex_);
      reads_ = reads;
      if (reads) callback = std::exchange(when_below_, nullptr);
    }
    if (callback) callback();
  }
  // The whole answer; what there is of it when it does not end.
  Response WaitForEnd() {
    return WaitFor([this] { return ended_; });
  }
  Response WaitForWrites(int count) {
    return WaitFor([&] { return writes_ >= count; });
  }
  Response so_far() const {
    std::lock_guard lock(mutex_);
    return response_;
  }
  bool ended() const {
    std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  template <typename F>
  Response WaitFor(F condition) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), condition)) << response_.body;
    return response_;
  }

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Response response_;
  int writes_ = 0;
  bool begun_ = false, ended_ = false, reads_ = true, gone_ = false;
  std::function<void()> on_gone_, when_below_;
};

// "" when there is none.
inline std::string HeaderOf(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace tonnage::http
