// What the dispatcher's threads do next: submissions that have something to be read, first; then
// those that are to be started, in the order in which they came. A submission is with one thread at
// a time, and waking it while it is there brings it back. Safe from any thread; Wake never
// allocates and never blocks for long, so that an engine's stepping thread may call it.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tonnage::internal {

class TextWork;

struct WorkQueueLimits {
  std::int64_t starters = 1;  // threads that may start something at a time
  std::int64_t requests = 0;  // not started yet
  Bytes bytes = 0;            // of them
};

class WorkQueue {
 public:
  using WorkPtr = std::shared_ptr<TextWork>;
  explicit WorkQueue(WorkQueueLimits limits) : limits_(limits) {}

  // To be started. Busy when the queue is full; the closing error when it is closed.
  Status Add(WorkPtr work);
  // It has something to be read.
  void Wake(const WorkPtr& work);

  // Takes nothing more, and answers what there is, to be ended.
  std::vector<WorkPtr> Close(const Error& error);

  // The next to be worked on, waiting for it; nothing when the queue is closed and nothing is left.
  WorkPtr Take();
  // After Take, when the thread has done what there was to do.
  void Return(const WorkPtr& work, bool finished);

 private:
  WorkPtr TakeReady();                  // under mutex_
  WorkPtr TakeFresh();                  // under mutex_
  void MakeReady(const WorkPtr& work);  // under mutex_

  const WorkQueueLimits limits_;

  std::mutex mutex_;  // guards what follows, and what TextWork keeps for the queue
  std::condition_variable changed_;
  std::unordered_set<WorkPtr> all_;  // from Add to the Return that finishes
  std::deque<WorkPtr> fresh_;
  Bytes fresh_bytes_ = 0;
  std::int64_t starting_ = 0;
  WorkPtr ready_first_;  // a list through TextWork::next
  TextWork* ready_last_ = nullptr;
  std::optional<Error> closed_;
};

}  // namespace tonnage::internal
