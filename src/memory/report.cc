#include "memory/report.h"

namespace tonnage {

MemoryReport ReportMemory(const Ledger& ledger, const Budget& budget, const Pool* pool,
                          const PressureWatch* pressure) {
  MemoryReport report{
      .held_bytes = ledger.Total(), .peak_bytes = ledger.Peak(), .budget = budget.status()};
  for (int owner = 0; owner < kOwnerCount; ++owner) {
    report.by_owner[static_cast<size_t>(owner)] = ledger.Of(static_cast<Owner>(owner));
  }
  if (pool != nullptr) {
    const PoolStatus status = pool->status();
    report.cached_buffers = status.cached_buffers;
    report.cached_bytes = status.cached_bytes;
  }
  if (pressure != nullptr) report.pressure = pressure->pressure();
  return report;
}

}  // namespace tonnage
