#include "graph/submissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/test_graphs.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr DeviceSpeed kSpeed = {.operations_per_s = 1e9,
                                .bytes_per_s = 1e8,
                                .copy_bytes_per_s = 1e7,
                                .launch_ms = 0.001,
                                .submission_ms = 0.01};

class SubmissionsTest : public ::testing::Test {
 protected:
  CostStep Step(std::int64_t rows) const {
    return {.rows = {rows, rows}, .context_tokens = 300, .formats = formats_};
  }
  Work Of(size_t node, std::int64_t rows) const {
    return RangeWork(graph_, {node, node + 1}, Step(rows), kSpeed);
  }
  // The most that any one node asks for.
  SubmissionLimits Least(std::int64_t rows) const {
    SubmissionLimits limits{.bytes = 0, .launches = 1, .ms = 0};
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      limits.bytes = std::max(limits.bytes, Of(n, rows).bytes);
      limits.ms = std::max(limits.ms, Of(n, rows).ms);
    }
    return limits;
  }

  // On one device.
  Result<std::vector<NodeRange>> Plan(std::int64_t rows, const SubmissionLimits& limits) const {
    const SubmissionDevice device{kSpeed, limits};
    const std::vector<size_t> device_of(graph_.nodes.size(), 0);
    ASSIGN_OR_RETURN(const auto submissions,
                     PlanSubmissions(graph_, Step(rows), {&device, 1}, device_of));
    std::vector<NodeRange> ranges;
    for (const Submission& submission : submissions) ranges.push_back(submission.nodes);
    return ranges;
  }

  const Graph graph_ = TestDecoder();
  const std::vector<Format> formats_{graph_.weights.size(), Format::Of(FormatKind::kF16)};
};

TEST_F(SubmissionsTest, ALaunchTakesAsLongAsItsLongerPart) {
  EXPECT_DOUBLE_EQ(LaunchWork({.operations = 1e6, .weight_bytes = 1000}, kSpeed).ms, 1.001);
  EXPECT_DOUBLE_EQ(LaunchWork({.operations = 1e3, .weight_bytes = 1000000}, kSpeed).ms, 10.001);
  EXPECT_DOUBLE_EQ(CopyWork(10000, kSpeed).ms, 1.001);
}

TEST_F(SubmissionsTest, WithoutLimitsThereIsOne) {
  const auto ranges = Plan(64, {});
  ASSERT_TRUE(ranges.ok());
  EXPECT_EQ(*ranges, (std::vector<NodeRange>{{0, graph_.nodes.size()}}));
}

TEST_F(SubmissionsTest, EveryNodeOnceWithinEveryLimitAndNoFewerWouldDo) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> factor(1.0, 4.0);
  const SubmissionLimits least = Least(64);
  for (int round = 0; round < 300; ++round) {
    const SubmissionLimits limits{
        .bytes = static_cast<Bytes>(static_cast<double>(least.bytes) * factor(random)),
        .launches = 1 + static_cast<std::int64_t>(factor(random) * 3),
        .ms = least.ms * factor(random)};
    const auto ranges = Plan(64, limits);
    ASSERT_TRUE(ranges.ok()) << ranges.error().message();
    size_t next = 0;
    for (const NodeRange& range : *ranges) {
      ASSERT_EQ(range.begin, next);
      ASSERT_LT(range.begin, range.end);
      next = range.end;
      EXPECT_TRUE(limits.Allow(RangeWork(graph_, range, Step(64), kSpeed)));
      EXPECT_TRUE(limits.Allow(RangeWork(graph_, range, Step(7), kSpeed))) << "a smaller step";
      if (range.end == graph_.nodes.size()) continue;
      EXPECT_FALSE(limits.Allow(RangeWork(graph_, {range.begin, range.end + 1}, Step(64), kSpeed)));
    }
    EXPECT_EQ(next, graph_.nodes.size());
  }
}

TEST_F(SubmissionsTest, ANodeTooLargeIsNamed) {
  SubmissionLimits limits = Least(64);
  limits.ms *= 0.99;
  const auto by_time = Plan(64, limits);
  ASSERT_FALSE(by_time.ok());
  EXPECT_EQ(by_time.error().code(), Code::kRefused);
  EXPECT_THAT(by_time.error().message(), HasSubstr("alone asks for 1 launches"));
  EXPECT_TRUE(Plan(8, limits).ok());
  EXPECT_FALSE(Plan(1, {.launches = 0}).ok());
}

TEST_F(SubmissionsTest, NoneHoldsWorkOfTwoDevices) {
  std::mt19937 random(5);
  SubmissionDevice slow{kSpeed, {}};
  slow.speed.bytes_per_s /= 10;
  const std::vector<SubmissionDevice> devices = {{kSpeed, Least(64)}, slow};
  for (int round = 0; round < 100; ++round) {
    std::vector<size_t> device_of;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) device_of.push_back(random() % 2);
    const auto submissions = PlanSubmissions(graph_, Step(64), devices, device_of);
    ASSERT_TRUE(submissions.ok()) << submissions.error().message();
    size_t next = 0;
    for (const Submission& submission : *submissions) {
      ASSERT_EQ(submission.nodes.begin, next);
      next = submission.nodes.end;
      const auto& [speed, limits] = devices[submission.device];
      EXPECT_TRUE(limits.Allow(RangeWork(graph_, submission.nodes, Step(64), speed)));
      for (size_t n = submission.nodes.begin; n < next; ++n) {
        EXPECT_EQ(device_of[n], submission.device) << n;
      }
    }
    EXPECT_EQ(next, graph_.nodes.size());
  }
}

TEST_F(SubmissionsTest, CopiesComeInRowBlocksThatFit) {
  const SubmissionLimits limits{.bytes = 1 << 20, .launches = 10, .ms = 50};
  const std::int64_t rows = RowsPerCopy(1000, kSpeed, limits);  // 49.999 ms are 499,990 bytes
  EXPECT_EQ(rows, 499);
  EXPECT_TRUE(limits.Allow(CopyWork(rows * 1000, kSpeed)));
  EXPECT_FALSE(limits.Allow(CopyWork((rows + 1) * 1000, kSpeed)));
  EXPECT_EQ(RowsPerCopy(1000, kSpeed, {.bytes = 2500}), 2);
  EXPECT_EQ(RowsPerCopy(3000, kSpeed, {.bytes = 2500}), 0);
  EXPECT_EQ(RowsPerCopy(1, kSpeed, {.ms = 0.0005}), 0);
  EXPECT_GT(RowsPerCopy(1, kSpeed, {}), std::int64_t{1} << 40);
}

}  // namespace
}  // namespace tonnage
