#include "cli/workload.h"

#include <gtest/gtest.h>

namespace tonnage::cli {
namespace {

using std::chrono::milliseconds;

// Tokens at these milliseconds after the start.
Timeline At(const std::vector<std::vector<int>>& requests) {
  Timeline timeline;
  timeline.start = Clock::time_point(std::chrono::seconds(100));
  for (const std::vector<int>& request : requests) {
    timeline.tokens.emplace_back();
    for (const int ms : request)
      timeline.tokens.back().push_back(timeline.start + milliseconds(ms));
  }
  return timeline;
}

TEST(WorkloadTest, MedianOfOddAndEven) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

TEST(WorkloadTest, DecodeBeginsWithTheFirstToken) {
  const Timeline timeline = At({{400, 500, 600, 800}});
  EXPECT_DOUBLE_EQ(FirstTokenSeconds(timeline), 0.4);
  EXPECT_DOUBLE_EQ(DecodeTokensPerSecond(timeline), 3 / 0.4);
  EXPECT_EQ(DecodeTokensPerSecond(At({{400}})), 0);
}

TEST(WorkloadTest, SideBySideCountsOnlyWhileAllDecode) {
  // All of them from 300 to 600 ms: 4 tokens of the first, and 3 of the second.
  const Timeline timeline = At({{100, 200, 300, 400, 500, 550, 600}, {300, 400, 500, 600, 700}});
  EXPECT_DOUBLE_EQ(SideBySideTokensPerSecond(timeline), 7 / 0.3);
  EXPECT_EQ(SideBySideTokensPerSecond(At({{100, 200}, {300, 400}})), 0);
}

TEST(WorkloadTest, ServiceIsWhatTheRequestsSee) {
  const Service service = ServiceOf(At({{100, 200, 300}, {200, 250, 500}, {400, 420, 430}}));
  EXPECT_DOUBLE_EQ(service.tokens_per_s, 9 / 0.5);
  EXPECT_DOUBLE_EQ(service.first_token_s, 0.2);
  EXPECT_DOUBLE_EQ(service.inter_token_s, 0.075);  // of 10, 20, 50, 100, 100, 250 ms
  EXPECT_DOUBLE_EQ(service.longest_inter_token_s, 0.25);
}

}  // namespace
}  // namespace tonnage::cli
