#include "engine/kv_pages.h"

#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace tonnage {

KvReservation::KvReservation(KvReservation&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)), slot_(other.slot_) {}

KvReservation& KvReservation::operator=(KvReservation&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(slot_, other.slot_);
  return *this;
}

KvReservation::~KvReservation() {
  if (pages_ != nullptr) pages_->Release(slot_);
}

KvPagePool::KvPagePool(std::int64_t slots, std::int64_t context_tokens)
    : pages_per_slot_(CeilDiv(context_tokens, kKvPageTokens)),
      table_(static_cast<size_t>(slots * pages_per_slot_), -1) {
  for (std::int64_t slot = slots; slot-- > 0;) {
    free_slots_.push_back(static_cast<std::int32_t>(slot));
  }
  for (std::int64_t page = slots * pages_per_slot_; page-- > 0;) {
    free_pages_.push_back(static_cast<std::int32_t>(page));
  }
}

std::span<std::int32_t> KvPagePool::Row(std::int32_t slot) {
  return std::span(table_).subspan(static_cast<size_t>(slot * pages_per_slot_),
                                   static_cast<size_t>(pages_per_slot_));
}

std::optional<KvReservation> KvPagePool::Reserve(std::int64_t tokens) {
  const std::int64_t pages = CeilDiv(tokens, kKvPageTokens);
  CHECK(pages >= 1 && pages <= pages_per_slot_) << tokens << " tokens in one slot";
  if (free_slots_.empty() || free_pages() < pages) return std::nullopt;
  const std::int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  for (std::int32_t& page : Row(slot).first(static_cast<size_t>(pages))) {
    page = free_pages_.back();
    free_pages_.pop_back();
  }
  return KvReservation(this, slot);
}

void KvPagePool::Release(std::int32_t slot) {
  for (std::int32_t& page : Row(slot)) {
    if (page < 0) break;
    free_pages_.push_back(std::exchange(page, -1));
  }
  free_slots_.push_back(slot);
}

}  // namespace tonnage
