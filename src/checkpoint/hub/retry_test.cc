#include "checkpoint/hub/retry.h"

#include <gtest/gtest.h>

namespace tonnage::hub {
namespace {

HttpHead With(std::string name, std::string value) {
  return {.status = 429, .headers = {{std::move(name), std::move(value)}}};
}

TEST(AskedDelayTest, SecondsDatesAndTheHubsOwnHeader) {
  EXPECT_EQ(AskedDelay(With("retry-after", "7"), 0), 7);
  EXPECT_EQ(AskedDelay(With("retry-after", "Thu, 01 Jan 1970 00:02:00 GMT"), 100), 20);
  EXPECT_EQ(AskedDelay(With("retry-after", "Thu, 01 Jan 1970 00:02:00 GMT"), 500), 0);
  EXPECT_EQ(AskedDelay(With("ratelimit", "\"api\";r=0;t=55"), 0), 55);
  EXPECT_EQ(AskedDelay(With("retry-after", "soon"), 0), std::nullopt);
  EXPECT_EQ(AskedDelay(With("ratelimit", "r=1"), 0), std::nullopt);
  EXPECT_EQ(AskedDelay({}, 0), std::nullopt);
}

TEST(BackoffTest, WaitsLongerAndGivesUp) {
  Backoff backoff;
  std::vector<std::int64_t> waits;
  while (const auto wait = backoff.Next(0, std::nullopt)) waits.push_back(*wait);
  EXPECT_EQ(waits, (std::vector<std::int64_t>{500, 1000, 2000, 4000, 8000}));
}

TEST(BackoffTest, ProgressBeginsANewRowAndTricklingDoesNot) {
  Backoff moving, trickling;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(moving.Next(Backoff::kProgressBytes, std::nullopt), 500);
  int tries = 1;
  while (trickling.Next(1, std::nullopt)) ++tries;
  EXPECT_EQ(tries, Backoff::kMostTries);
}

TEST(BackoffTest, ObeysAServerWithinReason) {
  EXPECT_EQ(Backoff().Next(0, 30), 30'000);
  EXPECT_EQ(Backoff().Next(0, 0), 500);
  EXPECT_EQ(Backoff().Next(0, 3600), std::nullopt);
}

TEST(IsPassingTest, ErrorsOfTheMoment) {
  for (const int status : {408, 429, 500, 502, 503, 504}) EXPECT_TRUE(IsPassing(status));
  for (const int status : {200, 401, 403, 404, 416, 501}) EXPECT_FALSE(IsPassing(status));
}

}  // namespace
}  // namespace tonnage::hub
