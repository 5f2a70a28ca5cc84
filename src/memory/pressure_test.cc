#include "memory/pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "memory/pool.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

// A host whose limit the test moves, and a budget with 600 bytes in use.
class PressureTest : public ::testing::Test {
 protected:
  PressureWatch Watch(std::vector<std::function<Bytes(Bytes)>> caches = {}) {
    return PressureWatch(
        budget_,
        [this]() -> Result<MemoryLimit> {
          ++looks_;
          if (unreadable_) return Unavailable("no /proc");
          return MemoryLimit{limit_, "the RAM that is available"};
        },
        {.caches = std::move(caches), .admissions = [this](std::optional<Error> why) {
           ++changes_;
           why_ = std::move(why);
         }});
  }

  Budget budget_{1000, 100, "the start"};
  Result<Reservation> held_ = budget_.Reserve(600);
  Bytes limit_ = 1000;
  bool unreadable_ = false;
  int looks_ = 0;
  int changes_ = 0;  // of the door
  std::optional<Error> why_;
};

TEST_F(PressureTest, TheBudgetFollowsTheHost) {
  PressureWatch watch = Watch();
  limit_ = 700;
  watch.Sample();
  EXPECT_EQ(budget_.limit_bytes(), 700);
  EXPECT_EQ(watch.pressure(), Pressure::kNone);
  EXPECT_THAT(budget_.Reserve(101).error().message(),
              HasSubstr("700 B that the RAM that is available allows"));
  limit_ = 5000;
  watch.Sample();
  EXPECT_TRUE(budget_.Reserve(4400).ok());
  EXPECT_EQ(changes_, 0);
}

TEST_F(PressureTest, ExactlyEnoughIsEnough) {
  PressureWatch watch = Watch();
  limit_ = 600;
  watch.Sample();
  EXPECT_EQ(watch.pressure(), Pressure::kNone);
  limit_ = 599;
  watch.Sample();
  EXPECT_EQ(watch.pressure(), Pressure::kAdmissionsClosed);
  ASSERT_TRUE(why_);
  EXPECT_EQ(why_->code(), Code::kBusy);
  EXPECT_EQ(why_->message(),
            "memory is short: 600 B are promised, and the RAM that is available leaves 599 B. What "
            "runs goes on; send the request again later");
  EXPECT_EQ(budget_.used_bytes(), 600) << "nothing that is held was taken back";
}

TEST_F(PressureTest, TheDoorOpensAfterSomeGoodLooksInARow) {
  PressureWatch watch = Watch();
  limit_ = 500;
  watch.Sample();
  watch.Sample();
  EXPECT_EQ(changes_, 1) << "told once";
  limit_ = 800;
  watch.Sample();
  watch.Sample();
  EXPECT_EQ(watch.pressure(), Pressure::kAdmissionsClosed);
  limit_ = 500;
  watch.Sample();  // the row begins anew
  limit_ = 800;
  watch.Sample();
  watch.Sample();
  EXPECT_EQ(changes_, 1);
  watch.Sample();
  EXPECT_EQ(changes_, 2);
  EXPECT_FALSE(why_);
  EXPECT_EQ(watch.pressure(), Pressure::kNone);
}

TEST_F(PressureTest, CachesYieldInTheirOrderAndOnlyAsFarAsNeeded) {
  std::string order;
  Result<Reservation> first = budget_.Reserve(50), second = budget_.Reserve(100);
  const auto cache = [&](char name, Result<Reservation>& held, Bytes wanted_bytes) {
    return [&, name, wanted_bytes](Bytes wanted) {
      order += name;
      EXPECT_EQ(wanted, wanted_bytes);
      const Bytes bytes = held->bytes();
      *held = Reservation();
      return bytes;
    };
  };
  PressureWatch watch = Watch({cache('a', first, 60), cache('b', second, 10)});
  limit_ = 690;  // of 750 that are in use
  watch.Sample();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(watch.pressure(), Pressure::kCachesYield);
  EXPECT_EQ(changes_, 0) << "the door stays open when caches are enough";
  watch.Sample();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(watch.pressure(), Pressure::kNone);
}

TEST_F(PressureTest, APoolsCachedBuffersGoBeforeTheDoorCloses) {
  Ledger ledger;
  Budget budget(10 * kMiB, 100, "the test");
  HostAllocator host(&ledger, &budget);
  Pool pool(host, budget);
  const auto live = pool.Allocate(Owner::kStaging, 4 * kMiB);
  pool.Allocate(Owner::kStaging, 5 * kMiB).value();  // given back, and so cached
  Bytes limit = 10 * kMiB;
  std::optional<Error> why;
  PressureWatch watch(
      budget,
      [&]() -> Result<MemoryLimit> {
        return MemoryLimit{limit, "another tenant"};
      },
      {.caches = {[&](Bytes wanted) { return pool.Trim(wanted); }},
       .admissions = [&](std::optional<Error> reason) { why = std::move(reason); }});
  limit = 6 * kMiB;
  watch.Sample();
  EXPECT_EQ(watch.pressure(), Pressure::kCachesYield);
  EXPECT_EQ(pool.status().cached_buffers, 0);
  EXPECT_EQ(pool.status().live_buffers, 1);
  EXPECT_FALSE(why);
  limit = 3 * kMiB;
  watch.Sample();
  EXPECT_EQ(watch.pressure(), Pressure::kAdmissionsClosed);
  EXPECT_EQ(pool.status().live_buffers, 1);
  EXPECT_TRUE(why);
}

TEST_F(PressureTest, WhatCannotBeReadChangesNothing) {
  PressureWatch watch = Watch();
  unreadable_ = true;
  watch.Sample();
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(budget_.limit_bytes(), 1000);
  EXPECT_EQ(watch.pressure(), Pressure::kNone);
}

}  // namespace
}  // namespace tonnage
