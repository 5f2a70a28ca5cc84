#include "kernels/peak/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tonnage {
namespace {

std::vector<std::string> Names(const Peaks& peaks) {
  std::vector<std::string> names;
  for (const PeakRate& rate : peaks.rates) names.emplace_back(rate.name);
  return names;
}

TEST(PeakTest, MeasuresOnlyWhatTheFeaturesAllow) {
  ThreadPool pool(2);
  std::vector<std::uint8_t> memory(1 << 20);
  const Peaks portable = MeasurePeaks(memory, {}, pool);
  EXPECT_EQ(Names(portable), (std::vector<std::string>{"int8_portable", "f32_portable"}));

  const CpuFeatures here = CpuFeatures::Detect();
  const Peaks peaks = MeasurePeaks(memory, here, pool);
  for (const PeakLoop& loop : PeakLoops()) {
    EXPECT_EQ(std::ranges::count(peaks.rates, loop.name, &PeakRate::name), loop.runs(here))
        << loop.name;
  }
  for (const PeakRate& rate : peaks.rates) EXPECT_GT(rate.operations_per_s, 1e6) << rate.name;
  EXPECT_GT(peaks.read_bytes_per_s, 1e7);
}

// No processor starts more than four vector instructions a cycle, nor has 8 GHz: a loop that
// claims more has lost its work to the compiler.
TEST(PeakTest, NoVectorLoopClaimsMoreThanAProcessorCanDo) {
  const CpuFeatures here = CpuFeatures::Detect();
  ThreadPool pool(1);
  for (const PeakLoop& loop : PeakLoops()) {
    if (!loop.runs(here) || std::string(loop.name).ends_with("amx")) continue;
    const double most_a_cycle = loop.arithmetic == Arithmetic::kInt8 ? 4 * 2 * 64 : 4 * 2 * 32;
    EXPECT_LT(MeasureOperations(loop, pool), 8e9 * most_a_cycle) << loop.name;
  }
}

// The fewer the features, the less is claimed.
TEST(PeakTest, WiderVectorsAreFaster) {
  const CpuFeatures here = CpuFeatures::Detect();
  if (!here.avx2) GTEST_SKIP() << "only the portable loops run here";
  ThreadPool pool(1);
  std::vector<std::uint8_t> memory(1 << 20);
  const Peaks plain = MeasurePeaks(memory, {}, pool);
  const Peaks best = MeasurePeaks(memory, here, pool);
  EXPECT_GT(best.OperationsPerSecond(Arithmetic::kInt8),
            plain.OperationsPerSecond(Arithmetic::kInt8));
}

TEST(PeakTest, TheBestRateOfAnArithmeticCountsAndF32StandsIn) {
  Peaks peaks;
  peaks.rates = {{"a", Arithmetic::kInt8, 5},
                 {"b", Arithmetic::kInt8, 7},
                 {"c", Arithmetic::kInt8, 6},
                 {"d", Arithmetic::kF32, 3}};
  EXPECT_EQ(peaks.OperationsPerSecond(Arithmetic::kInt8), 7);
  EXPECT_EQ(peaks.OperationsPerSecond(Arithmetic::kF32), 3);
  EXPECT_EQ(peaks.OperationsPerSecond(Arithmetic::kBf16), 3);
}

TEST(PeakTest, TheBestOfTwoMeasurements) {
  Peaks peaks = {.read_bytes_per_s = 5,
                 .rates = {{"a", Arithmetic::kInt8, 1}, {"b", Arithmetic::kF32, 9}}};
  peaks.TakeBest(
      {.read_bytes_per_s = 4, .rates = {{"a", Arithmetic::kInt8, 2}, {"b", Arithmetic::kF32, 8}}});
  EXPECT_EQ(peaks.read_bytes_per_s, 5);
  EXPECT_EQ(peaks.rates[0].operations_per_s, 2);
  EXPECT_EQ(peaks.rates[1].operations_per_s, 9);
}

TEST(PeakTest, MemoryOfAnySizeAndAlignmentIsRead) {
  ThreadPool pool(2);
  std::vector<std::uint8_t> memory(1 << 17);
  for (const std::size_t offset : {0, 1, 63}) {
    const std::span part = std::span(memory).subspan(offset, memory.size() - 100);
    EXPECT_GT(MeasureRead(part, CpuFeatures::Detect(), pool), 0);
  }
}

}  // namespace
}  // namespace tonnage
