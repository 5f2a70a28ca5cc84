#include "backend/sim/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "backend/sim/testing.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr Work kMillisecond = {.bytes = 100, .launches = 2, .ms = 0.99};  // with its submission

TEST(SimProfiles, EachCanBeFoundAndIsConsistent) {
  ASSERT_GE(SimProfiles().size(), 5u);
  for (const SimProfile& profile : SimProfiles()) {
    EXPECT_EQ(FindSimProfile(profile.name)->memory_bytes, profile.memory_bytes);
    EXPECT_LE(profile.submission.ms + profile.speed.submission_ms, profile.watchdog_ms / 2)
        << profile.name << ": our submissions stay far from the watchdog";
    EXPECT_LE(profile.page_bytes, 64 * kKiB);
  }
  EXPECT_EQ(FindSimProfile("m1")->watchdog_ms, 5000);
}

TEST(SimProfiles, AnUnknownOneIsRefusedWithTheList) {
  const auto profile = FindSimProfile("m17");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(profile.error().message(), HasSubstr("`m17`"));
  for (const SimProfile& known : SimProfiles()) {
    EXPECT_THAT(profile.error().message(), HasSubstr(std::string(known.name)));
  }
}

TEST(SimDevice, CountsWholePagesOfEveryOwner) {
  SimDevice device({.profile = SmallProfile()});
  {
    const auto kv = device.Allocate(Owner::kKv, 5000);
    const auto heap = device.Account(Owner::kRuntime, 77);
    ASSERT_TRUE(kv.ok() && heap.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kv->data()) % 64, 0u);
    EXPECT_EQ(device.ledger().Of(Owner::kKv), 8192);
    EXPECT_EQ(device.allocated_bytes(), 8192 + 77);
    EXPECT_EQ(device.budget().used_bytes(), 8192 + 77);
    EXPECT_EQ(device.allocated_buffers(), 2);
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
  EXPECT_EQ(device.ledger().Total(), 0);
}

TEST(SimDevice, LimitsBytesAndBuffers) {
  SimProfile profile = SmallProfile();
  profile.buffers = 2;
  SimDevice device({.profile = profile});
  const auto a = device.Allocate(Owner::kKv, 3 * kMiB);
  const auto large = device.Allocate(Owner::kArena, 2 * kMiB);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code(), Code::kRefused);
  EXPECT_THAT(large.error().message(), HasSubstr("arena: 2.0 MiB more needed"));
  EXPECT_THAT(large.error().message(), HasSubstr("sim:small allows"));
  const auto b = device.Allocate(Owner::kArena, 1);
  const auto third = device.Allocate(Owner::kArena, 1);
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message(), HasSubstr("all 2 that the device allows"));
}

TEST(SimDevice, TheUsersLimitIsNamedWhereItIsTheLower) {
  SimDevice device(
      {.profile = SmallProfile(), .limit_bytes = 1 * kMiB, .limit_source = "--memory-limit"});
  EXPECT_THAT(device.Allocate(Owner::kKv, 2 * kMiB).error().message(),
              HasSubstr("--memory-limit allows"));
  device.SetForeignBytes(4 * kMiB - 1000);
  EXPECT_EQ(device.budget().limit_bytes(), 1000);
  EXPECT_EQ(device.budget().source(), "sim:small beside other tenants");
}

TEST(SimDevice, TenantsGrowAndShrinkOnTheirSchedule) {
  SimDevice device({.profile = SmallProfile(),
                    .tenants = {{SimTenant::Unit::kModelledMs, {{2, kMiB}, {4, 0}}},
                                {SimTenant::Unit::kSubmissions, {{3, 5000}}}}});
  std::vector<Bytes> taken;
  for (int step = 0; step < 5; ++step) {
    taken.push_back(4 * kMiB - device.budget().limit_bytes());
    ASSERT_TRUE(device.Run(kMillisecond, FaultPoint::kLaunch).ok());
  }
  EXPECT_EQ(taken, (std::vector<Bytes>{0, 0, kMiB, kMiB + 5000, 5000}));
  EXPECT_NEAR(device.now_ms(), 5, 1e-9);
}

TEST(SimDevice, ATenantTakesNothingThatIsHeld) {
  SimDevice device({.profile = SmallProfile()});
  const auto held = device.Allocate(Owner::kKv, 3 * kMiB);
  device.SetForeignBytes(2 * kMiB);
  EXPECT_EQ(device.allocated_bytes(), 3 * kMiB);
  EXPECT_FALSE(device.Allocate(Owner::kKv, 1).ok());
  device.SetForeignBytes(0);
  EXPECT_TRUE(device.Allocate(Owner::kKv, 1 * kMiB).ok());
}

TEST(SimDevice, TheWatchdogEndsWhatTakesTooLong) {
  SimDevice device({.profile = SmallProfile()});
  ASSERT_TRUE(device.Run({.bytes = 7, .launches = 1, .ms = 4.99}, FaultPoint::kLaunch).ok());
  const Status killed = device.Run({.bytes = 7, .launches = 3, .ms = 5}, FaultPoint::kLaunch);
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().code(), Code::kUnavailable);
  EXPECT_THAT(killed.error().message(), HasSubstr("watchdog ended a submission of 3 launches"));
  EXPECT_EQ(device.statistics().kills, 1);
  EXPECT_NEAR(device.now_ms(), 10, 1e-9);
  EXPECT_EQ(device.Run(kMillisecond, FaultPoint::kLaunch).error().message(),
            killed.error().message());
  EXPECT_FALSE(device.Allocate(Owner::kKv, 1).ok());
}

TEST(SimDevice, TheNthOperationFailsAsItWasTold) {
  for (const FaultPoint point : {FaultPoint::kLaunch, FaultPoint::kCopy, FaultPoint::kCompletion}) {
    for (const FaultEffect effect : {FaultEffect::kError, FaultEffect::kHang, FaultEffect::kLost}) {
      SimDevice device({.profile = SmallProfile()});
      const FaultPoint kind = point == FaultPoint::kCompletion ? FaultPoint::kCopy : point;
      // Two launches or copies a submission, but one completion.
      device.Arm({point, point == FaultPoint::kCompletion ? 3 : 6, effect});
      EXPECT_TRUE(device.Run(kMillisecond, kind).ok());
      EXPECT_TRUE(device.Run(kMillisecond, kind).ok());
      EXPECT_EQ(device.faults_hit(), 0);
      const Status failed = device.Run(kMillisecond, kind);
      ASSERT_FALSE(failed.ok());
      EXPECT_EQ(device.faults_hit(), 1);
      EXPECT_EQ(failed.error().code(), Code::kUnavailable);
      EXPECT_THAT(failed.error().message(), HasSubstr(std::string(FaultPointName(point))));
      EXPECT_EQ(device.health().error().message(), failed.error().message());
      const double hung_ms = effect == FaultEffect::kHang ? 5 : 0;
      const double ended_ms = point == FaultPoint::kCompletion ? 1 : 0;
      EXPECT_NEAR(device.now_ms(), 2 + ended_ms + hung_ms, 1e-9) << "the watchdog ends a hang";
      EXPECT_FALSE(device.Allocate(Owner::kKv, 1).ok());
    }
  }
}

TEST(SimDevice, AFailedAllocationIsARefusalAndTheDeviceGoesOn) {
  SimDevice device({.profile = SmallProfile()});
  device.Arm({FaultPoint::kAllocation, 2});
  EXPECT_TRUE(device.Allocate(Owner::kKv, 1).ok());
  const auto failed = device.Allocate(Owner::kKv, 1);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::kRefused);
  EXPECT_TRUE(device.Allocate(Owner::kKv, 1).ok());
  EXPECT_EQ(device.allocated_bytes(), 0);
}

TEST(SimDevice, WithoutAWatchdogAHangIsGivenUpAtLast) {
  SimProfile profile = SmallProfile();
  profile.watchdog_ms = kNoWatchdog;
  SimDevice device({.profile = profile});
  EXPECT_TRUE(device.Run({.launches = 1, .ms = 1e9}, FaultPoint::kLaunch).ok());
  device.Arm({FaultPoint::kLaunch, 1, FaultEffect::kHang});
  EXPECT_FALSE(device.Run(kMillisecond, FaultPoint::kLaunch).ok());
  EXPECT_GT(device.now_ms(), 1e9 + 1000);
}

TEST(SimDevice, AFenceWaitsForTheOtherDeviceOutsideOfSubmissions) {
  SimDevice fast({.profile = SmallProfile()}), slow({.profile = SmallProfile(), .index = 1});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(slow.Run(kMillisecond, FaultPoint::kLaunch).ok());
  fast.WaitFor(slow);
  EXPECT_NEAR(fast.now_ms(), 21, 1e-9) << "its work, and the fence";
  EXPECT_TRUE(fast.Run(kMillisecond, FaultPoint::kLaunch).ok()) << "the watchdog saw no wait";
  slow.WaitFor(fast);
  EXPECT_NEAR(slow.now_ms(), 23, 1e-9);
  EXPECT_EQ(fast.statistics().fences, 1);
}

}  // namespace
}  // namespace tonnage
