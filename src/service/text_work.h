// One submission of the dispatcher: from its request to the last event of its last answer. A thread
// of the dispatcher calls Run whenever there may be something to do, one at a time; End is safe
// from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "service/dispatcher.h"
#include "service/work_queue.h"

namespace tonnage::internal {

class TextWork : public std::enable_shared_from_this<TextWork> {
 public:
  TextWork(std::shared_ptr<WorkQueue> queue, std::shared_ptr<const TextEngine> engine,
           TextRequest request, int choices, std::shared_ptr<TextListener> listener,
           std::shared_ptr<TextObserver> observer);

  // Starts it, or hands on what can be read. True when nothing more will come.
  bool Run();
  // Tells the listener that it is not even queued.
  void Refuse(const Error& error);
  // Ends it as soon as can be: with the error, or as cancelled.
  void End(std::optional<Error> error);

  Bytes bytes() const { return bytes_; }

  // What WorkQueue knows of it, under the queue's mutex.
  enum class State { kFresh, kStarting, kIdle, kReady, kRunning, kFinished };
  struct Place {
    State state = State::kFresh;
    bool again = false;                        // woken while a thread had it
    std::shared_ptr<TextWork> next = nullptr;  // with kReady
  };
  Place place;

 private:
  Status Start();
  bool Deliver();
  void Done(int choice, TextDone done);
  // After an exception: whoever has not had an end gets this one.
  void Fail(const Error& error);
  void Wake();

  const std::shared_ptr<WorkQueue> queue_;
  const std::shared_ptr<const TextEngine> engine_;
  const std::shared_ptr<TextListener> listener_;
  const std::shared_ptr<TextObserver> observer_;
  const int choices_;
  const Bytes bytes_;
  const Clock::time_point submitted_at_ = Clock::now();
  std::function<void()> wake_;  // borrows nothing: it may outlive the work

  // Of the thread that runs it.
  TextRequest request_;
  bool started_ = false;
  std::vector<std::optional<Clock::time_point>> read_at_;  // of each choice, its last tokens
  std::vector<bool> done_;                                 // of each choice

  std::mutex mutex_;  // guards what follows; `answers_` is read without it by the thread that runs
  std::vector<TextGeneration> answers_;
  bool ending_ = false;
  std::optional<Error> end_error_;  // with ending_; none: cancelled
};

// About what a request holds while it waits.
Bytes RequestBytes(const TextRequest& request);

}  // namespace tonnage::internal
