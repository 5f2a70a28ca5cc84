#include "memory/buffer.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tonnage {
namespace {

TEST(Buffer, LedgerBudgetAndMemoryEndTogether) {
  Ledger ledger;
  Budget budget(10 * kMiB, 4, "the test");
  HostAllocator allocator(&ledger, &budget);
  {
    auto kv = allocator.Allocate(Owner::kKv, 6 * kMiB);
    ASSERT_TRUE(kv.ok());
    kv->data()[6 * kMiB - 1] = 1;
    Buffer moved = std::move(*kv);
    EXPECT_EQ(ledger.Of(Owner::kKv), 6 * kMiB);
    EXPECT_EQ(budget.used_bytes(), 6 * kMiB);
    auto refused = allocator.Allocate(Owner::kWeights, 5 * kMiB);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), Code::kRefused);
    EXPECT_EQ(refused.error().message(),
              "weights: 5.0 MiB more needed, but only 4.0 MiB of the 10.0 MiB that the test allows "
              "are free");
    EXPECT_EQ(ledger.Total(), 6 * kMiB);
  }
  EXPECT_EQ(ledger.Total(), 0);
  EXPECT_EQ(ledger.Peak(), 6 * kMiB);
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_EQ(budget.used_buffers(), 0);
}

TEST(Buffer, WholePagesAreCounted) {
  Ledger ledger;
  Budget budget(kMiB, 4, "the test");
  HostAllocator allocator(&ledger, &budget);
  EXPECT_EQ(allocator.Footprint(0), 0);
  const Bytes page = allocator.Footprint(1);
  EXPECT_GE(page, 4 * kKiB);
  {
    const auto buffer = allocator.Allocate(Owner::kArena, page + 1);
    EXPECT_EQ(buffer->bytes(), page + 1);
    EXPECT_EQ(ledger.Of(Owner::kArena), 2 * page);
    EXPECT_EQ(budget.used_bytes(), 2 * page);
    const auto entry = allocator.Account(Owner::kRuntime, 1001);  // no memory, so no page
    EXPECT_EQ(ledger.Of(Owner::kRuntime), 1001);
    EXPECT_EQ(entry->data(), nullptr);
    EXPECT_FALSE(allocator.Account(Owner::kRuntime, kMiB).ok());
  }
  EXPECT_EQ(ledger.Total(), 0);
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(Buffer, CountIsLimitedToo) {
  Ledger ledger;
  Budget budget(kMiB, 2, "the test");
  HostAllocator allocator(&ledger, &budget);
  auto a = allocator.Allocate(Owner::kArena, 1);
  auto b = allocator.Allocate(Owner::kArena, 0);
  auto c = allocator.Allocate(Owner::kArena, 1);
  EXPECT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE(c.ok());
}

TEST(Budget, ThreadsNeverOvershoot) {
  Budget budget(1000, 1000, "the test");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&budget] {
      for (int i = 0; i < 2000; ++i) {
        auto held = budget.Reserve(400);
        EXPECT_LE(budget.used_bytes(), 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used_bytes(), 0);
}

}  // namespace
}  // namespace tonnage
