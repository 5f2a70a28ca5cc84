// Who holds which slot and which pages of the KV cache. All pages are allocated once, with the
// program; here they are only handed out: a reservation takes one slot and every page that its
// request can ever need, so that a running request never waits for memory. Nothing allocates after
// construction. One thread at a time; the pages outlive every reservation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/cache_layout.h"

namespace tonnage {

class KvPagePool;

// One slot and its pages, given back when destroyed.
class KvReservation {
 public:
  KvReservation(KvReservation&& other) noexcept;
  KvReservation& operator=(KvReservation&& other) noexcept;
  ~KvReservation();
  std::int32_t slot() const { return slot_; }

 private:
  friend class KvPagePool;
  KvReservation(KvPagePool* pages, std::int32_t slot) : pages_(pages), slot_(slot) {}
  KvPagePool* pages_;
  std::int32_t slot_;
};

class KvPagePool {
 public:
  KvPagePool(std::int64_t slots, std::int64_t context_tokens);
  KvPagePool(const KvPagePool&) = delete;
  KvPagePool& operator=(const KvPagePool&) = delete;

  // A slot with pages for `tokens` (1 <= tokens <= the context), or nothing while none is free.
  std::optional<KvReservation> Reserve(std::int64_t tokens);

  // [slots, pages per slot]: the physical page of each slot's n-th page; -1 where none is reserved.
  std::span<const std::int32_t> table() const { return table_; }
  std::int64_t free_slots() const { return static_cast<std::int64_t>(free_slots_.size()); }
  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_pages_.size()); }

 private:
  friend class KvReservation;
  void Release(std::int32_t slot);
  std::span<std::int32_t> Row(std::int32_t slot);

  std::int64_t pages_per_slot_;
  std::vector<std::int32_t> table_;
  std::vector<std::int32_t> free_slots_;  // stacks: what was used last is warmest
  std::vector<std::int32_t> free_pages_;
};

}  // namespace tonnage
