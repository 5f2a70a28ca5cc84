#include "memory/pressure.h"

#include <algorithm>

namespace tonnage {

std::string_view PressureName(Pressure pressure) {
  static constexpr std::string_view kNames[] = {"none", "caches yield", "admissions closed"};
  return kNames[static_cast<size_t>(pressure)];
}

Result<Bytes> PressureWatch::ReadShortage() {
  ASSIGN_OR_RETURN(MemoryLimit limit, reader_());
  budget_.SetLimit(limit.bytes, std::move(limit.source));
  const BudgetStatus status = budget_.status();
  return std::max<Bytes>(0, status.used_bytes - status.limit_bytes);
}

void PressureWatch::Sample() {
  Result<Bytes> shortage = ReadShortage();
  if (!shortage.ok()) return;
  const bool caches_asked = *shortage > 0;
  for (const auto& give_back : retreat_.caches) {
    if (*shortage == 0) break;
    if (give_back(*shortage) == 0) continue;
    shortage = ReadShortage();
    if (!shortage.ok()) return;
  }
  const bool closed = pressure() == Pressure::kAdmissionsClosed;
  if (*shortage > 0) {
    looks_without_shortage_ = 0;
    if (closed) return;
    const BudgetStatus status = budget_.status();
    pressure_ = Pressure::kAdmissionsClosed;
    retreat_.admissions(
        Busy("memory is short: {} are promised, and {} leaves {}. What runs goes on; send the "
             "request again later",
             FormatBytes(status.used_bytes), budget_.source(), FormatBytes(status.limit_bytes)));
    return;
  }
  if (closed && ++looks_without_shortage_ < retreat_.looks_to_open) return;
  pressure_ = caches_asked ? Pressure::kCachesYield : Pressure::kNone;
  if (closed) retreat_.admissions(std::nullopt);
}

}  // namespace tonnage
