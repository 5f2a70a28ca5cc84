// Watches what the host leaves this process while it serves. Other tenants grow; then the budget
// shrinks with what is there, and when it falls below what is promised already, the retreat has an
// order: caches give back first, then admissions close, and what runs keeps running. Admissions
// open again when the memory has been there for some looks in a row. Sample may be called from any
// thread, one call at a time; what it stands on outlives it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "memory/budget.h"
#include "memory/host_memory.h"

namespace tonnage {

enum class Pressure {
  kNone,
  kCachesYield,       // too little was left, but what caches gave back was enough
  kAdmissionsClosed,  // too little is left for what is promised
};
std::string_view PressureName(Pressure pressure);

// How to retreat.
struct Retreat {
  // In the order in which they yield: each gives back what it can of so many bytes, and says how
  // many those were.
  std::vector<std::function<Bytes(Bytes wanted)>> caches = {};
  // Called when admissions close, with the reason, and when they open, with nothing.
  std::function<void(std::optional<Error> why)> admissions = {};
  // So many looks in a row without a shortage open them again.
  int looks_to_open = 3;
};

class PressureWatch {
 public:
  // How much this process may hold in all, by the smallest of its limits, as that is now. What
  // cannot be read changes nothing.
  using Reader = std::function<Result<MemoryLimit>()>;

  PressureWatch(Budget& budget, Reader reader, Retreat retreat)
      : budget_(budget), reader_(std::move(reader)), retreat_(std::move(retreat)) {}

  // One look, and what follows from it.
  void Sample();
  Pressure pressure() const { return pressure_.load(); }

 private:
  // Reads the limit into the budget. The bytes that are held or promised beyond it.
  Result<Bytes> ReadShortage();

  Budget& budget_;
  const Reader reader_;
  const Retreat retreat_;
  int looks_without_shortage_ = 0;  // in a row
  std::atomic<Pressure> pressure_{Pressure::kNone};
};

}  // namespace tonnage
