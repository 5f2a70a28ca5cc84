#include "backend/cpu/step_queue.h"

#include "backend/cpu/program.h"

namespace tonnage {

StepQueue::StepQueue(ThreadPool& pool, std::mutex& pool_mutex)
    : pool_(pool), pool_mutex_(pool_mutex), thread_([this] { Work(); }) {}

StepQueue::~StepQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  pushed_changed_.notify_one();
  thread_.join();
}

Event StepQueue::Push(CpuProgram* program) {
  std::uint64_t sequence = 0;
  {
    std::unique_lock lock(mutex_);
    finished_changed_.wait(lock, [&] { return pushed_.load() - finished_.load() < kCapacity; });
    sequence = pushed_.load() + 1;
    steps_[sequence % kCapacity] = program;
    pushed_.store(sequence, std::memory_order_release);
  }
  pushed_changed_.notify_one();
  return {sequence};
}

void StepQueue::Wait(Event event) {
  if (finished_.load(std::memory_order_acquire) >= event.sequence) return;
  // A step takes milliseconds and wants every core: no spinning here.
  std::unique_lock lock(mutex_);
  finished_changed_.wait(
      lock, [&] { return finished_.load(std::memory_order_acquire) >= event.sequence; });
}

void StepQueue::Work() {
  for (std::uint64_t sequence = 1;; ++sequence) {
    {
      std::unique_lock lock(mutex_);
      pushed_changed_.wait(
          lock, [&] { return stopping_ || pushed_.load(std::memory_order_acquire) >= sequence; });
      if (pushed_.load(std::memory_order_acquire) < sequence) return;
    }
    {
      std::lock_guard lock(pool_mutex_);
      steps_[sequence % kCapacity]->Run(pool_);
    }
    {
      std::lock_guard lock(mutex_);
      finished_.store(sequence, std::memory_order_release);
    }
    finished_changed_.notify_all();
  }
}

}  // namespace tonnage
