// The ledger: every byte that the process holds on one device, by owner. The sum equals what the
// allocator says; quote, metrics and crash reports read it. Safe from any thread; reading and
// writing never allocate.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace tonnage {

enum class Owner { kWeights, kKv, kState, kArena, kWorkspace, kStaging, kPrefixCache, kRuntime };
inline constexpr int kOwnerCount = 8;
std::string_view OwnerName(Owner owner);

class Ledger {
 public:
  void Add(Owner owner, Bytes bytes);
  void Remove(Owner owner, Bytes bytes);
  // From one line to another; total and peak stay.
  void Move(Owner from, Owner to, Bytes bytes);
  Bytes Of(Owner owner) const;
  Bytes Total() const { return total_.load(std::memory_order_relaxed); }
  // The highest Total() so far.
  Bytes Peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<Bytes>, kOwnerCount> by_owner_{};
  std::atomic<Bytes> total_{0};
  std::atomic<Bytes> peak_{0};
};

}  // namespace tonnage
