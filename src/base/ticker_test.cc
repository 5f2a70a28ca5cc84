#include "base/ticker.h"

#include <gtest/gtest.h>

#include <semaphore>

namespace tonnage {
namespace {

TEST(Ticker, CallsAgainAndAgainAndEndsAtOnce) {
  std::counting_semaphore<> ticks(0);
  {
    const Ticker ticker(std::chrono::milliseconds(1), [&] { ticks.release(); });
    for (int i = 0; i < 3; ++i) ticks.acquire();
  }
  bool ticked = false;
  {
    const Ticker never(std::chrono::hours(1), [&] { ticked = true; });
  }
  EXPECT_FALSE(ticked);
}

}  // namespace
}  // namespace tonnage
