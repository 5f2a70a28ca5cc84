#include "base/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tonnage {
namespace {

// About 20 us of spinning at 3 GHz: longer than the gaps between the launches of one step, shorter
// than a person notices.
constexpr int kSpins = 2000;

inline void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Work(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_.store(true);
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunTasks(int thread) {
  for (;;) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= tasks_) return;
    fn_(context_, i, thread);
  }
}

void ThreadPool::RunErased(std::int64_t tasks, TaskFn fn, void* context) {
  fn_ = fn;
  context_ = context;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  running_workers_.store(static_cast<std::int64_t>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) {
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  RunTasks(0);
  for (int spins = 0; running_workers_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();  // a worker lost its core: let it have ours
    }
  }
}

void ThreadPool::Work(int thread) {
  std::uint64_t seen = 0;
  for (;;) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < kSpins) {
        Pause();
        continue;
      }
      std::unique_lock lock(mutex_);
      parked_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_seq_cst) != seen; });
      parked_.fetch_sub(1, std::memory_order_relaxed);
    }
    ++seen;
    if (stopping_.load()) return;
    RunTasks(thread);
    running_workers_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace tonnage
