// Runs what a route has to do that is too long for a thread of the HTTP server and is no text
// generation: on one thread of its own, from a bounded queue. Safe from any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/result.h"

namespace tonnage {

class SideJobs {
 public:
  explicit SideJobs(size_t most_waiting = 64);
  ~SideJobs();  // drops what has not begun

  // Busy when too many wait. A job that throws is dropped.
  Status Post(std::function<void()> job);

 private:
  void Work();

  const size_t most_waiting_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;

  std::thread thread_;  // last, so that it starts when everything else is there
};

}  // namespace tonnage
