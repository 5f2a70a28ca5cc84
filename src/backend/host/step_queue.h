// The queue thread of a backend: runs submitted steps in order and keeps the first failure, which
// every later step fails with too. Any thread may push or wait: models that share a backend have a
// stepping thread each.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "backend/backend.h"
#include "base/result.h"

namespace tonnage {

class HostProgram;

class StepQueue {
 public:
  // Its thread stays on `processor`, if there is one.
  explicit StepQueue(std::optional<int> processor = std::nullopt);
  // Runs what was pushed, then ends.
  ~StepQueue();

  // Waits for a place when kCapacity steps are unfinished.
  Event Push(HostProgram& program);
  // Waits for the step. Its failure, or that of a step before it.
  Status Wait(Event event);
  // Waits for the step, however it ends.
  void Drain(Event event);
  bool Finished(Event event) const {
    return finished_.load(std::memory_order_acquire) >= event.sequence;
  }

 private:
  static constexpr std::uint64_t kCapacity = 16;
  void Work();

  std::array<HostProgram*, kCapacity> steps_{};  // step n at n % kCapacity
  std::atomic<std::uint64_t> pushed_{0};         // the last step's sequence number
  std::atomic<std::uint64_t> finished_{0};
  std::mutex mutex_;  // held to push, to finish a step and to sleep; guards what follows
  std::condition_variable pushed_changed_;
  std::condition_variable finished_changed_;
  Status failure_;                                 // of the first step that failed
  std::atomic<std::uint64_t> failed_{UINT64_MAX};  // its sequence number; written under mutex_
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tonnage
