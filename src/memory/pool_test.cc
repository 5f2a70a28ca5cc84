#include "memory/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace tonnage {
namespace {

using ::testing::HasSubstr;

// A pool over the host's memory, with a budget of its own.
class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override { Limit(kGiB, 1000); }
  void Limit(Bytes bytes, std::int64_t buffers) {
    pool_.reset();
    base_.reset();
    budget_ = std::make_unique<Budget>(bytes, buffers, "the test");
    base_ = std::make_unique<HostAllocator>(&ledger_, budget_.get());
    pool_ = std::make_unique<Pool>(*base_, *budget_);
  }
  Buffer Take(Bytes bytes, Owner owner = Owner::kStaging) {
    auto buffer = pool_->Allocate(owner, bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.error().message();
    return std::move(*buffer);
  }
  // One cached buffer for each size, in this order of age.
  void Cache(std::initializer_list<Bytes> sizes) {
    std::vector<Buffer> held;
    for (const Bytes bytes : sizes) held.push_back(Take(bytes));
    for (Buffer& buffer : held) buffer = Buffer();
  }
  // Budget, ledger and pool tell the same.
  void ExpectBalance() {
    const PoolStatus status = pool_->status();
    EXPECT_EQ(budget_->used_buffers(), status.live_buffers + status.cached_buffers);
    EXPECT_EQ(budget_->used_bytes(), status.live_bytes + status.cached_bytes);
    EXPECT_EQ(ledger_.Total(), budget_->used_bytes());
  }

  Ledger ledger_;
  std::unique_ptr<Budget> budget_;
  std::unique_ptr<HostAllocator> base_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolTest, AFreedBufferServesTheNextOfItsClass) {
  Buffer first = Take(1'000'000);
  std::uint8_t* const data = first.data();
  data[999'999] = 1;
  first = Buffer();
  EXPECT_EQ(pool_->status().cached_buffers, 1);
  const Buffer second = Take(930'000, Owner::kWorkspace);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.bytes(), 930'000);
  const PoolStatus status = pool_->status();
  EXPECT_EQ(status.reuses, 1);
  EXPECT_EQ(status.live_buffers, 1);
  EXPECT_EQ(status.cached_buffers, 0);
  EXPECT_EQ(status.peak_buffers, 1);
  EXPECT_EQ(ledger_.Of(Owner::kStaging), 0);
  EXPECT_EQ(ledger_.Of(Owner::kWorkspace), pool_->Footprint(930'000));
  ExpectBalance();
}

TEST_F(PoolTest, AClassReachesAQuarterBeyondWhatIsAskedForAtMost) {
  for (Bytes bytes = 4 * kKiB; bytes < 4 * kMiB; bytes += 997) {
    const Bytes footprint = pool_->Footprint(bytes);
    EXPECT_GE(footprint, bytes);
    EXPECT_LE(footprint, RoundUp(bytes + bytes / 4, 4 * kKiB)) << bytes;
  }
  EXPECT_EQ(pool_->Footprint(0), 0);
  EXPECT_EQ(pool_->Footprint(kMiB), kMiB);
}

TEST_F(PoolTest, OwnersOfLiveAndCachedBuffersAreInTheLedger) {
  const Buffer live = Take(kMiB, Owner::kStaging);
  Take(2 * kMiB, Owner::kWorkspace);
  EXPECT_EQ(ledger_.Of(Owner::kStaging), kMiB);
  EXPECT_EQ(ledger_.Of(Owner::kWorkspace), 2 * kMiB);  // cached, but held all the same
  EXPECT_EQ(pool_->status().cached_bytes, 2 * kMiB);
  pool_->Trim();
  EXPECT_EQ(ledger_.Of(Owner::kWorkspace), 0);
  EXPECT_EQ(pool_->status().peak_bytes, 3 * kMiB);
  ExpectBalance();
}

TEST_F(PoolTest, AtHighWaterTheLongestUnusedGoesDownToLowWater) {
  Limit(kGiB, 20);  // trims at 18, down to 16
  std::vector<Buffer> live;
  for (int i = 0; i < 14; ++i) live.push_back(Take(4 * kKiB));
  std::vector<const std::uint8_t*> places;
  for (const Buffer& buffer : live) places.push_back(buffer.data());
  Cache({8 * kKiB, 16 * kKiB, 32 * kKiB, 64 * kKiB});
  EXPECT_EQ(budget_->used_buffers(), 18);
  EXPECT_EQ(pool_->status().trims, 0);
  live.push_back(Take(kMiB));
  const PoolStatus status = pool_->status();
  EXPECT_EQ(status.trims, 1);
  EXPECT_EQ(status.live_buffers, 15);
  EXPECT_EQ(status.cached_buffers, 2);
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(live[i].data(), places[i]);
  // The two that were freed last are still there.
  const Buffer newer = Take(32 * kKiB), newest = Take(64 * kKiB);
  EXPECT_EQ(pool_->status().reuses, 2);
  const Buffer gone = Take(16 * kKiB);
  EXPECT_EQ(pool_->status().reuses, 2);
  ExpectBalance();
}

TEST_F(PoolTest, UsingABufferAgainMakesItYoung) {
  Limit(kGiB, 20);
  std::vector<Buffer> live;
  for (int i = 0; i < 15; ++i) live.push_back(Take(4 * kKiB));
  Cache({8 * kKiB, 16 * kKiB, 32 * kKiB});
  Take(8 * kKiB);  // taken and given back: now the youngest
  live.push_back(Take(kMiB));
  EXPECT_EQ(pool_->status().cached_buffers, 1);
  Take(8 * kKiB);
  EXPECT_EQ(pool_->status().reuses, 2);
}

TEST_F(PoolTest, ATrimLastsForSomeAllocations) {
  Limit(kGiB, 1000);  // 100 buffers between the marks
  std::vector<Buffer> held;
  for (int i = 0; i < 900; ++i) held.push_back(Take((i % 100 + 1) * 4 * kKiB));
  held.clear();
  EXPECT_EQ(pool_->status().cached_buffers, 900);
  for (int i = 0; i < 100; ++i) held.push_back(Take(kMiB));  // a class that is not there
  EXPECT_EQ(pool_->status().trims, 1);
  EXPECT_EQ(budget_->used_buffers(), 900);
  ExpectBalance();
}

TEST_F(PoolTest, ALimitOnBuffersRefusesNothingWhileOnlyTheCacheIsInTheWay) {
  Limit(kGiB, 10);
  for (int round = 0; round < 50; ++round) {
    std::vector<Buffer> held;
    for (int i = 0; i < 10; ++i) held.push_back(Take((round * 10 + i + 1) * 8 * kKiB));
    ExpectBalance();
    const auto refused = pool_->Allocate(Owner::kStaging, 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message(), HasSubstr("one more buffer needed, but all 10"));
  }
  EXPECT_EQ(budget_->status().peak_buffers, 10);
}

TEST_F(PoolTest, CachedBuffersYieldBeforeAnythingIsRefused) {
  Limit(10 * kMiB, 1000);
  const Buffer live = Take(2 * kMiB);
  Cache({kMiB, 3 * kMiB, 4 * kMiB});
  EXPECT_EQ(budget_->used_bytes(), 10 * kMiB);
  {
    const Buffer larger = Take(5 * kMiB);  // 1 and 3 MiB make room for a part of it
    EXPECT_EQ(pool_->status().cached_bytes, 0);
    ExpectBalance();
  }
  pool_->Trim();
  Cache({kMiB, 7 * kMiB});
  auto entry = pool_->Account(Owner::kRuntime, 500);  // the oldest is enough
  EXPECT_TRUE(entry.ok());
  EXPECT_EQ(pool_->status().cached_bytes, 7 * kMiB);
  const auto refused = pool_->Allocate(Owner::kStaging, 9 * kMiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kRefused);
  EXPECT_EQ(pool_->status().cached_buffers, 0);
  EXPECT_EQ(live.bytes(), 2 * kMiB);
}

TEST_F(PoolTest, AnEmptyBufferIsTheBases) {
  const Buffer empty = Take(0);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(pool_->status().live_buffers, 0);
  EXPECT_EQ(budget_->used_buffers(), 1);
}

// Many threads, sizes and owners, under a limit that is often reached.
TEST_F(PoolTest, ThreadsKeepTheBalance) {
  Limit(8 * kMiB, 60);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([this, seed] {
      std::mt19937 random(seed);
      std::vector<Buffer> held;
      for (int i = 0; i < 2000; ++i) {
        const Bytes bytes = static_cast<Bytes>(random() % kMiB + 1);
        auto buffer = pool_->Allocate(static_cast<Owner>(random() % kOwnerCount), bytes);
        EXPECT_LE(budget_->used_bytes(), 8 * kMiB);
        EXPECT_LE(budget_->used_buffers(), 60);
        if (buffer.ok()) {
          buffer->data()[bytes - 1] = static_cast<std::uint8_t>(seed);
          held.push_back(std::move(*buffer));
        }
        if (!held.empty() && (!buffer.ok() || held.size() > 12)) held.erase(held.begin());
        for (const Buffer& mine : held) {
          EXPECT_EQ(mine.data()[mine.bytes() - 1], static_cast<std::uint8_t>(seed));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectBalance();
  EXPECT_EQ(pool_->status().live_buffers, 0);
  pool_->Trim();
  EXPECT_EQ(ledger_.Total(), 0);
  EXPECT_EQ(budget_->used_buffers(), 0);
  for (int owner = 0; owner < kOwnerCount; ++owner) {
    EXPECT_EQ(ledger_.Of(static_cast<Owner>(owner)), 0);
  }
}

}  // namespace
}  // namespace tonnage
