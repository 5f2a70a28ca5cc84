// The queue thread of a CPU backend: runs submitted steps in order, on itself and the thread pool.
// Any thread may push or wait: models that share a backend have a stepping thread each.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "backend/backend.h"
#include "base/thread_pool.h"

namespace tonnage {

class CpuProgram;

class StepQueue {
 public:
  // `pool` is used under `pool_mutex`; both outlive the queue.
  StepQueue(ThreadPool& pool, std::mutex& pool_mutex);
  // Runs what was pushed, then ends.
  ~StepQueue();

  // Waits for a place when kCapacity steps are unfinished.
  Event Push(CpuProgram* program);
  void Wait(Event event);
  // Whether the event was ever handed out.
  bool Knows(Event event) const {
    return event.sequence <= pushed_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kCapacity = 16;
  void Work();

  ThreadPool& pool_;
  std::mutex& pool_mutex_;
  std::array<CpuProgram*, kCapacity> steps_{};  // step n at n % kCapacity
  std::atomic<std::uint64_t> pushed_{0};        // the last step's sequence number
  std::atomic<std::uint64_t> finished_{0};
  std::mutex mutex_;  // held to push, to finish a step and to sleep; guards stopping_
  std::condition_variable pushed_changed_;
  std::condition_variable finished_changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tonnage
