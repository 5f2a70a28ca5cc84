#include "memory/report.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(MemoryReport, TellsLiveFromCached) {
  Ledger ledger;
  Budget budget(10 * kMiB, 50, "the test");
  HostAllocator host(&ledger, &budget);
  Pool pool(host, budget);
  const auto kv = host.Allocate(Owner::kKv, kMiB);
  const auto staging = pool.Allocate(Owner::kStaging, 2 * kMiB);
  pool.Allocate(Owner::kStaging, 3 * kMiB).value();
  PressureWatch watch(budget,
                      []() -> Result<MemoryLimit> {
                        return MemoryLimit{5 * kMiB, "another tenant"};
                      },
                      {.admissions = [](const std::optional<Error>&) {}});
  watch.Sample();
  const MemoryReport report = ReportMemory(ledger, budget, &pool, &watch);
  EXPECT_EQ(report.by_owner[static_cast<size_t>(Owner::kKv)], kMiB);
  EXPECT_EQ(report.by_owner[static_cast<size_t>(Owner::kStaging)], 5 * kMiB);
  EXPECT_EQ(report.held_bytes, 6 * kMiB);
  EXPECT_EQ(report.peak_bytes, 6 * kMiB);
  EXPECT_EQ(report.live_buffers(), 2);
  EXPECT_EQ(report.live_bytes(), 3 * kMiB);
  EXPECT_EQ(report.cached_buffers, 1);
  EXPECT_EQ(report.cached_bytes, 3 * kMiB);
  EXPECT_EQ(report.budget.limit_bytes, 5 * kMiB);
  EXPECT_EQ(report.budget.limit_buffers, 50);
  EXPECT_EQ(report.pressure, Pressure::kAdmissionsClosed);
}

}  // namespace
}  // namespace tonnage
