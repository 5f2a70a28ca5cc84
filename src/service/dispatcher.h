// Serves many text requests on a few threads of its own: renders and tokenizes, starts the answers,
// and hands their events to listeners as they come. No thread waits for a request, so that hundreds
// may be under way. What has not been started waits in a queue that is bounded in requests and
// bytes; text that a slow client does not take waits in its generation, which max_tokens bounds.
// Every method is safe from any thread. Engines outlive the dispatcher.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "service/generate.h"

namespace tonnage {

namespace internal {
class TextWork;
class WorkQueue;
}  // namespace internal

// What becomes of one submission: OnStarted, then any number of OnDelta, then OnDone, once for each
// choice; or OnRefused, alone. One call at a time, on any thread.
class TextListener {
 public:
  virtual ~TextListener() = default;
  virtual void OnStarted(std::span<const TokenId> prompt) = 0;
  virtual void OnDelta(int choice, TextDelta delta) = 0;
  virtual void OnDone(int choice, const TextDone& done) = 0;
  virtual void OnRefused(const Error& error) = 0;
  // Whether it takes more now. If not, it calls `resume` once it does, or later, from any thread;
  // until then only the end of a cancelled submission comes.
  virtual bool Ready(const std::function<void()>& resume) = 0;
};

// The handle of a submission. Destroying it changes nothing.
class TextCall {
 public:
  TextCall() = default;
  explicit TextCall(std::weak_ptr<internal::TextWork> work) : work_(std::move(work)) {}
  // The engine stops at its next step. No delta comes any more, only the ends.
  void Cancel() const;

 private:
  std::weak_ptr<internal::TextWork> work_;
};

// Hears of everything that is served, for metrics. Called on the dispatcher's threads.
class TextObserver {
 public:
  virtual ~TextObserver() = default;
  // More of an answer was read: so many tokens, so long after those before or the submission.
  virtual void OnTokens(bool first, std::int64_t tokens, Clock::duration since) = 0;
  virtual void OnDone(const TextDone& done, Clock::duration since_submitted) = 0;
  virtual void OnRefused(const Error& error) = 0;
};

struct DispatcherOptions {
  int threads = 2;  // at least 2: all but one may start requests, so that streams go on
  std::int64_t queue_requests = 256;  // not started yet
  Bytes queue_bytes = 64 * kMiB;      // of them
  std::shared_ptr<TextObserver> observer = nullptr;
};

class Dispatcher {
 public:
  explicit Dispatcher(DispatcherOptions options = {});
  ~Dispatcher();  // as EndAll, and waits until every listener has had its end
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Starts `choices` answers to one request, all of them or none. Everything that can be wrong
  // comes as OnRefused, maybe before this returns: Busy when the queue is full, and whatever
  // TextEngine::Start says.
  TextCall Submit(std::shared_ptr<const TextEngine> engine, TextRequest request, int choices,
                  std::shared_ptr<TextListener> listener);

  // Ends everything under way with `error`, and refuses with it what comes from now on.
  void EndAll(const Error& error);

 private:
  void Work();

  const DispatcherOptions options_;
  std::shared_ptr<internal::WorkQueue> queue_;
  std::vector<std::thread> threads_;
};

// How long somebody who was told Busy or Unavailable should wait: until the model's process is
// started again, or a slot of the engine is likely to be free, going by how long its requests have
// run of late. From 1 to 600.
std::int64_t RetryAfterSeconds(const TokenEngine& engine);

}  // namespace tonnage
