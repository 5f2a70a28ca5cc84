// A fork-join pool: Run() splits a job into tasks over the pool's threads and the caller, and
// returns when all are done. Workers spin briefly for the next job, then park; one that comes too
// late for a job is not waited for. Running never allocates. One caller at a time; the pool
// outlives no job. A pool of one thread runs everything on the caller.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

namespace tonnage {

class ThreadPool {
 public:
  // `threads` counts the caller: threads - 1 workers are started. Worker i stays on
  // processors[i], counted in circles, where there are any.
  explicit ThreadPool(int threads, std::span<const int> processors = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(i), or task(i, thread) where it takes two, once for every i in [0, tasks), in any
  // order, on any thread of the pool. Each thread takes the indices of a share of its own one by
  // one, then those that others have left, so that uneven tasks balance.
  // `thread` in [0, threads()) is a different one for tasks that run at the same time.
  template <typename Task>
  void Run(std::int64_t tasks, Task&& task) {
    if (tasks <= 1 || workers_.empty()) {
      for (std::int64_t i = 0; i < tasks; ++i) Call(task, i, 0);
      return;
    }
    using Plain = std::remove_reference_t<Task>;
    RunErased(
        tasks,
        [](void* context, std::int64_t i, int thread) {
          Call(*static_cast<Plain*>(context), i, thread);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  using TaskFn = void (*)(void* context, std::int64_t index, int thread);
  template <typename Task>
  static void Call(Task& task, std::int64_t i, int thread) {
    if constexpr (std::is_invocable_v<Task&, std::int64_t, int>) {
      task(i, thread);
    } else {
      task(i);
    }
  }
  void RunErased(std::int64_t tasks, TaskFn fn, void* context);
  void Work(int thread);
  void RunTasks(int thread);
  bool Join(int thread, std::uint64_t state);
  void Close(std::atomic<std::uint64_t>& joined);

  // A share of a job's tasks, and whether its thread is at work; on a cache line of its own, since
  // with a counter or a word for all, 16 threads spend more time on it than on the small jobs of a
  // decode step.
  struct alignas(64) Share {
    // generation << kIndexBits | tasks taken, of the last job in which there were any: no share
    // has to be reset.
    std::atomic<std::uint64_t> taken{0};
    // generation << 1 | whether the thread is inside: the last job that it joined, or that was
    // closed before it came.
    std::atomic<std::uint64_t> joined{0};
  };
  static constexpr int kIndexBits = 28;
  // Takes a task of a share, or -1 if there is none left.
  std::int64_t Take(Share& share, std::int64_t begin, std::int64_t end);

  // The job. The caller writes it while nobody is inside.
  TaskFn fn_ = nullptr;
  void* context_ = nullptr;
  std::int64_t tasks_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<Share> shares_;  // one a thread
  // What workers wait for: generation << 1 | whether that job is open.
  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) std::atomic<bool> stopping_{false};

  std::mutex mutex_;  // guards parking only
  std::condition_variable wake_;
  std::atomic<int> parked_{0};

  std::vector<std::thread> workers_;
};

}  // namespace tonnage
