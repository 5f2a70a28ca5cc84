#include "server/supervisor/backoff.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, LoadsWaitTwiceAsLongEachTime) {
  Backoff backoff;
  for (const auto expected : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s}) {
    EXPECT_EQ(backoff.Failed(true), expected);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(backoff.Failed(true), 300s);
  EXPECT_TRUE(backoff.gives_up());
  backoff.Succeeded();
  EXPECT_FALSE(backoff.gives_up());
  EXPECT_EQ(backoff.Failed(true), 1s);
}

TEST(Backoff, TheFirstCrashWhileServingWaitsForNothing) {
  Backoff backoff;
  EXPECT_EQ(backoff.Failed(false), 0s);
  EXPECT_EQ(backoff.Failed(false), 1s);
  EXPECT_EQ(backoff.Failed(true), 4s);
  backoff.Succeeded();
  EXPECT_EQ(backoff.Failed(false), 0s);
}

}  // namespace
}  // namespace tonnage
