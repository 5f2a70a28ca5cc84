#include "memory/ledger.h"

#include "base/check.h"

namespace tonnage {

std::string_view OwnerName(Owner owner) {
  static constexpr std::string_view kNames[kOwnerCount] = {
      "weights", "kv", "state", "arena", "workspace", "staging", "prefix cache", "runtime"};
  return kNames[static_cast<size_t>(owner)];
}

void Ledger::Add(Owner owner, Bytes bytes) {
  by_owner_[static_cast<size_t>(owner)].fetch_add(bytes, std::memory_order_relaxed);
  const Bytes total = total_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  Bytes peak = peak_.load(std::memory_order_relaxed);
  while (peak < total && !peak_.compare_exchange_weak(peak, total, std::memory_order_relaxed)) {
  }
}

void Ledger::Remove(Owner owner, Bytes bytes) {
  const Bytes before =
      by_owner_[static_cast<size_t>(owner)].fetch_sub(bytes, std::memory_order_relaxed);
  CHECK_GE(before, bytes) << OwnerName(owner) << " gives back more than it holds";
  total_.fetch_sub(bytes, std::memory_order_relaxed);
}

void Ledger::Move(Owner from, Owner to, Bytes bytes) {
  by_owner_[static_cast<size_t>(from)].fetch_sub(bytes, std::memory_order_relaxed);
  by_owner_[static_cast<size_t>(to)].fetch_add(bytes, std::memory_order_relaxed);
}

Bytes Ledger::Of(Owner owner) const {
  return by_owner_[static_cast<size_t>(owner)].load(std::memory_order_relaxed);
}

}  // namespace tonnage
