#include "cli/progress.h"

#include <gtest/gtest.h>

namespace tonnage::cli {
namespace {

TEST(ProgressTest, SaysHowMuchHowFastAndHowLong) {
  EXPECT_EQ(ProgressText("pulling", kMiB, 4 * kMiB, std::nullopt),
            "pulling [======                  ]  25%  1.0 MiB of 4.0 MiB");
  EXPECT_EQ(ProgressText("pulling", kMiB, 4 * kMiB, kMiB / 2.0),
            "pulling [======                  ]  25%  1.0 MiB of 4.0 MiB  512.0 KiB/s  6 s left");
  EXPECT_EQ(ProgressText("pulling", 0, 0, std::nullopt),
            "pulling [========================] 100%  0 B of 0 B");
}

TEST(ProgressTest, DurationsForPeople) {
  EXPECT_EQ(FormatDuration(0.2), "1 s");
  EXPECT_EQ(FormatDuration(59), "59 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7500), "2 h 05 min");
  EXPECT_EQ(FormatDuration(1e18), "99 h 00 min");
}

TEST(RateMeterTest, SettlesOnTheRateWhereverItBegan) {
  RateMeter meter;
  meter.Add(100, 5000);
  meter.Add(100.1, 6000);
  EXPECT_FALSE(meter.bytes_per_second()) << "too early to say";
  for (int second = 1; second <= 30; ++second) meter.Add(100 + second, 5000 + 200 * second);
  EXPECT_NEAR(*meter.bytes_per_second(), 200, 1);
  for (int second = 31; second <= 60; ++second) meter.Add(100 + second, 5000 + 200 * 30);
  EXPECT_NEAR(*meter.bytes_per_second(), 0, 1) << "and notices a stall";
}

}  // namespace
}  // namespace tonnage::cli
