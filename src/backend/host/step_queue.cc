#include "backend/host/step_queue.h"

#include "backend/host/program.h"
#include "base/cores.h"

namespace tonnage {

StepQueue::StepQueue(std::optional<int> processor)
    : thread_([this, processor] {
        if (processor) PinThread(*processor);
        Work();
      }) {}

StepQueue::~StepQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  pushed_changed_.notify_one();
  thread_.join();
}

Event StepQueue::Push(HostProgram& program) {
  std::uint64_t sequence = 0;
  {
    std::unique_lock lock(mutex_);
    finished_changed_.wait(lock, [&] { return pushed_.load() - finished_.load() < kCapacity; });
    sequence = pushed_.load() + 1;
    steps_[sequence % kCapacity] = &program;
    pushed_.store(sequence, std::memory_order_release);
  }
  pushed_changed_.notify_one();
  return {sequence};
}

Status StepQueue::Wait(Event event) {
  if (event.sequence > pushed_.load(std::memory_order_relaxed)) {
    return Internal("step {} was never submitted", event.sequence);
  }
  Drain(event);
  if (failed_.load(std::memory_order_acquire) > event.sequence) return {};
  std::lock_guard lock(mutex_);
  return failure_;
}

void StepQueue::Drain(Event event) {
  if (Finished(event)) return;
  // A step takes milliseconds and wants every core: no spinning here.
  std::unique_lock lock(mutex_);
  finished_changed_.wait(lock, [&] { return Finished(event); });
}

void StepQueue::Work() {
  for (std::uint64_t sequence = 1;; ++sequence) {
    {
      std::unique_lock lock(mutex_);
      pushed_changed_.wait(
          lock, [&] { return stopping_ || pushed_.load(std::memory_order_acquire) >= sequence; });
      if (pushed_.load(std::memory_order_acquire) < sequence) return;
    }
    Status status = steps_[sequence % kCapacity]->RunStep();
    {
      std::lock_guard lock(mutex_);
      if (!status.ok() && failure_.ok()) {
        failure_ = std::move(status);
        failed_.store(sequence, std::memory_order_release);
      }
      finished_.store(sequence, std::memory_order_release);
    }
    finished_changed_.notify_all();
  }
}

}  // namespace tonnage
