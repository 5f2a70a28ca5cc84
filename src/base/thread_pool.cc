#include "base/thread_pool.h"

#include <algorithm>

#include "base/check.h"
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

std::int64_t ThreadPool::Take(Share& share, std::int64_t begin, std::int64_t end) {
  if (begin == end) return -1;
  constexpr std::uint64_t kIndex = (std::uint64_t{1} << kIndexBits) - 1;
  const std::uint64_t fresh = generation_ << kIndexBits;
  std::uint64_t taken = share.taken.load(std::memory_order_relaxed);
  for (;;) {
    const bool is_stale = (taken & ~kIndex) != fresh;
    const std::uint64_t index = is_stale ? 0 : taken & kIndex;
    const std::int64_t task = begin + static_cast<std::int64_t>(index);
    if (task >= end) return -1;
    if (share.taken.compare_exchange_weak(taken, fresh + index + 1, std::memory_order_relaxed))
      return task;
  }
}

void ThreadPool::RunTasks(int thread) {
  const auto count = static_cast<std::int64_t>(shares_.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t owner = thread + i < count ? thread + i : thread + i - count;
    const std::int64_t begin = tasks_ * owner / count, end = tasks_ * (owner + 1) / count;
    Share& share = shares_[static_cast<size_t>(owner)];
    for (std::int64_t task; (task = Take(share, begin, end)) >= 0;) fn_(context_, task, thread);
  }
}

void ThreadPool::RunErased(std::int64_t tasks, TaskFn fn, void* context) {
  CHECK_LT(tasks / static_cast<std::int64_t>(shares_.size()), std::int64_t{1} << kIndexBits);
  fn_ = fn;
  context_ = context;
  tasks_ = tasks;
  ++generation_;
  state_.store(generation_ << 1 | 1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) {
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  RunTasks(0);
  state_.store(generation_ << 1, std::memory_order_relaxed);
  for (size_t i = 1; i < shares_.size(); ++i) Close(shares_[i].joined);
}

// Waits for a worker that has joined the job, and keeps out one that has not.
void ThreadPool::Close(std::atomic<std::uint64_t>& joined) {
  const std::uint64_t closed = generation_ << 1, inside = closed | 1;
  std::uint64_t word = joined.load(std::memory_order_acquire);
  while (word < closed) {
    if (joined.compare_exchange_weak(word, closed, std::memory_order_acq_rel)) return;
  }
  for (int spins = 0; word == inside; ++spins) {
    if (spins < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();  // a worker lost its core: let it have ours
    }
    word = joined.load(std::memory_order_acquire);
  }
}

// Joins the job that `state` shows open, unless it has been closed since.
bool ThreadPool::Join(int thread, std::uint64_t state) {
  std::atomic<std::uint64_t>& joined = shares_[static_cast<size_t>(thread)].joined;
  std::uint64_t word = joined.load(std::memory_order_relaxed);
  while (word < (state & ~std::uint64_t{1})) {
    if (joined.compare_exchange_weak(word, state, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void ThreadPool::Work(int thread) {
  std::atomic<std::uint64_t>& joined = shares_[static_cast<size_t>(thread)].joined;
  std::uint64_t seen = 0;
  const auto is_new = [&](std::uint64_t state) { return (state & 1) != 0 && state != seen; };
  for (int spins = 0; !stopping_.load(std::memory_order_relaxed);) {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    if (is_new(state)) {
      seen = state;
      if (Join(thread, state)) {
        RunTasks(thread);
        joined.store(state & ~std::uint64_t{1}, std::memory_order_release);
      }
      spins = 0;
    } else if (spins < kSpins) {
      ++spins;
      Pause();
    } else {
      std::unique_lock lock(mutex_);
      parked_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(
          lock, [&] { return stopping_.load() || is_new(state_.load(std::memory_order_seq_cst)); });
      parked_.fetch_sub(1, std::memory_order_relaxed);
      spins = 0;
    }
  }
}

}  // namespace tonnage
