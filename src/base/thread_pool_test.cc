#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

#include "base/cores.h"

namespace tonnage {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
      pool.Run(tasks, [&](std::int64_t i) { counts[static_cast<size_t>(i)].fetch_add(1); });
      for (auto& count : counts) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, WorkersStayOnTheirProcessors) {
  const std::vector<int> all = AllowedProcessors();
  const std::vector<int> chosen = {all.back(), all.front()};
  ThreadPool pool(4, chosen);
  std::array<std::vector<int>, 4> seen;
  std::atomic<int> inside = 0;
  pool.Run(4, [&](std::int64_t, int thread) {
    seen[static_cast<size_t>(thread)] = AllowedProcessors();
    for (++inside; inside < 4;) std::this_thread::yield();  // so that each takes one
  });
  EXPECT_EQ(seen[0], all) << "the caller is not the pool's to move";
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(seen[i], std::vector<int>{chosen[i % 2]});
}

TEST(ThreadPool, ManySmallJobsSeeEachOthersWrites) {
  ThreadPool pool(3);
  std::vector<std::int64_t> sums(16, 0);
  for (int round = 0; round < 20000; ++round) {
    pool.Run(16, [&](std::int64_t i) {
      sums[static_cast<size_t>(i)] += round + sums[static_cast<size_t>((i) % 16)] % 2;
    });
  }
  for (std::int64_t sum : sums) EXPECT_EQ(sum, sums[0]);
}

TEST(ThreadPool, TasksAtTheSameTimeHaveDifferentThreads) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> busy(3);
  pool.Run(1000, [&](std::int64_t, int thread) {
    EXPECT_EQ(busy[static_cast<size_t>(thread)].exchange(1), 0);
    std::this_thread::yield();
    busy[static_cast<size_t>(thread)].store(0);
  });
}

TEST(ThreadPool, WakesParkedWorkers) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> count{0};
    pool.Run(8, [&](std::int64_t) { count.fetch_add(1); });
    EXPECT_EQ(count.load(), 8);
  }
}

}  // namespace
}  // namespace tonnage
