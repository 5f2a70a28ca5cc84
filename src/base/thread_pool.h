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

  // Worker threads join a job while its state is open. The state is
  // generation << kGenerationShift | kOpen | how many workers are inside.
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 15;
  static constexpr std::uint64_t kInside = kOpen - 1;
  static constexpr int kGenerationShift = 16;
  bool TryJoin(std::uint64_t& seen);

  // Neighbouring tasks, on a cache line of their own: with one counter for all, 16 threads spend
  // more time on it than on the small jobs of a decode step.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  // The job. The caller writes it while nobody is inside and the state is closed.
  TaskFn fn_ = nullptr;
  void* context_ = nullptr;
  std::vector<Share> shares_;  // one a thread
  alignas(64) std::atomic<std::uint64_t> state_{0};
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;  // guards parking only
  std::condition_variable wake_;
  std::atomic<int> parked_{0};

  std::vector<std::thread> workers_;
};

}  // namespace tonnage
