// What a device's memory looks like at one moment: the ledger, the budget and what is cached, as a
// value for metrics, protocols and the library. Its parts are read one after the other, so while
// buffers come and go they may differ by those.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "memory/budget.h"
#include "memory/ledger.h"
#include "memory/pool.h"
#include "memory/pressure.h"

namespace tonnage {

struct MemoryReport {
  std::array<Bytes, kOwnerCount> by_owner = {};
  Bytes held_bytes = 0;
  Bytes peak_bytes = 0;
  BudgetStatus budget = {};
  std::int64_t cached_buffers = 0;
  Bytes cached_bytes = 0;
  Pressure pressure = Pressure::kNone;

  std::int64_t live_buffers() const { return budget.used_buffers - cached_buffers; }
  Bytes live_bytes() const { return budget.used_bytes - cached_bytes; }
};

// `pool` and `pressure` are those of the device, where it has them.
MemoryReport ReportMemory(const Ledger& ledger, const Budget& budget, const Pool* pool = nullptr,
                          const PressureWatch* pressure = nullptr);

}  // namespace tonnage
