#include "base/thread_pool.h"

#include <algorithm>

#include "base/cores.h"

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

ThreadPool::ThreadPool(int threads, std::span<const int> processors)
    : shares_(static_cast<size_t>(std::max(1, threads))) {
  constexpr int kAnywhere = -1;
  try {
    for (int i = 1; i < threads; ++i) {
      const size_t place = static_cast<size_t>(i);
      const int processor = processors.empty() ? kAnywhere : processors[place % processors.size()];
      workers_.emplace_back([this, i, processor] {
        if (processor != kAnywhere) PinThread(processor);
        Work(i);
      });
    }
  } catch (...) {  // the system starts no more: those that run must end before their handles do
    {
      std::lock_guard lock(mutex_);
      stopping_.store(true);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunTasks(int thread) {
  const size_t count = shares_.size();
  for (size_t i = 0; i < count; ++i) {
    Share& share = shares_[(static_cast<size_t>(thread) + i) % count];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const std::int64_t task = share.next.fetch_add(1, std::memory_order_relaxed);
      if (task < share.end) fn_(context_, task, thread);
    }
  }
}

void ThreadPool::RunErased(std::int64_t tasks, TaskFn fn, void* context) {
  fn_ = fn;
  context_ = context;
  const auto count = static_cast<std::int64_t>(shares_.size());
  for (std::int64_t i = 0; i < count; ++i) {
    Share& share = shares_[static_cast<size_t>(i)];
    share.next.store(tasks * i / count, std::memory_order_relaxed);
    share.end = tasks * (i + 1) / count;
  }
  const std::uint64_t generation = (state_.load(std::memory_order_relaxed) >> kGenerationShift) + 1;
  state_.store(generation << kGenerationShift | kOpen, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) {
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  RunTasks(0);
  std::uint64_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int spins = 0; (state & kInside) > 0; ++spins) {
    if (spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();  // a worker lost its core: let it have ours
    }
    state = state_.load(std::memory_order_acquire);
  }
}

// Counts the worker in if there is a job that it has not seen and that is still open.
bool ThreadPool::TryJoin(std::uint64_t& seen) {
  std::uint64_t state = state_.load(std::memory_order_acquire);
  while ((state & kOpen) != 0 && state >> kGenerationShift != seen) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) {
      seen = state >> kGenerationShift;
      return true;
    }
  }
  return false;
}

void ThreadPool::Work(int thread) {
  std::uint64_t seen = 0;
  for (int spins = 0; !stopping_.load(std::memory_order_relaxed);) {
    if (TryJoin(seen)) {
      RunTasks(thread);
      state_.fetch_sub(1, std::memory_order_release);
      spins = 0;
    } else if (spins < kSpins) {
      ++spins;
      Pause();
    } else {
      std::unique_lock lock(mutex_);
      parked_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(lock, [&] {
        const std::uint64_t state = state_.load(std::memory_order_seq_cst);
        return stopping_.load() || ((state & kOpen) != 0 && state >> kGenerationShift != seen);
      });
      parked_.fetch_sub(1, std::memory_order_relaxed);
      spins = 0;
    }
  }
}

}  // namespace tonnage
