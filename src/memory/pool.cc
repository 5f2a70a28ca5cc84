#include "memory/pool.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace tonnage {
namespace {

// Four classes to each doubling.
Bytes SizeClass(Bytes bytes) {
  constexpr Bytes kSmallest = 4 * kKiB;
  if (bytes <= kSmallest) return kSmallest;
  const auto below = std::bit_floor(static_cast<std::uint64_t>(bytes - 1));
  return RoundUp(bytes, static_cast<Bytes>(below / 4));
}

}  // namespace

Pool::~Pool() { CHECK(live_.empty()) << live_.size() << " buffers outlive their pool"; }

Result<Buffer> Pool::Allocate(Owner owner, Bytes bytes) {
  std::lock_guard lock(mutex_);
  if (bytes == 0) return TakeFromBase([&] { return base_.Allocate(owner, 0); });
  const Bytes size = Footprint(bytes);
  Entries& shelf = cached_[size];
  if (!shelf.empty()) {
    Lend(shelf, std::prev(shelf.end()));
    live_.back().buffer.SetOwner(owner);
    --status_.cached_buffers;
    status_.cached_bytes -= size;
    ++status_.reuses;
  } else {
    TrimAtHighWater();
    ASSIGN_OR_RETURN(Buffer buffer, TakeFromBase([&] { return base_.Allocate(owner, size); }));
    Entries fresh;
    fresh.push_back({std::move(buffer), size});
    Lend(fresh, fresh.begin());
  }
  ++status_.live_buffers;
  status_.live_bytes += size;
  status_.peak_buffers =
      std::max(status_.peak_buffers, status_.live_buffers + status_.cached_buffers);
  status_.peak_bytes = std::max(status_.peak_bytes, status_.live_bytes + status_.cached_bytes);
  return MakeBuffer(this, nullptr, {}, owner, live_.back().buffer.data(), bytes);
}

void Pool::Lend(Entries& from, Entries::iterator entry) {
  live_at_.emplace(entry->buffer.data(), entry);  // first: it may find no memory
  live_.splice(live_.end(), from, entry);
}

// Never allocates: buffers end in destructors.
void Pool::Free(std::uint8_t* data, Bytes) {
  std::lock_guard lock(mutex_);
  const auto at = live_at_.find(data);
  CHECK(at != live_at_.end()) << "a buffer of another pool";
  const Entries::iterator entry = at->second;
  live_at_.erase(at);
  entry->freed_at = ++frees_;
  Entries& shelf = cached_.find(entry->size)->second;
  shelf.splice(shelf.end(), live_, entry);
  --status_.live_buffers;
  status_.live_bytes -= entry->size;
  ++status_.cached_buffers;
  status_.cached_bytes += entry->size;
}

Bytes Pool::Footprint(Bytes bytes) const {
  return base_.Footprint(bytes == 0 ? 0 : SizeClass(bytes));
}

Result<Buffer> Pool::Account(Owner owner, Bytes bytes) {
  std::lock_guard lock(mutex_);
  return TakeFromBase([&] { return base_.Account(owner, bytes); });
}

template <typename Take>
Result<Buffer> Pool::TakeFromBase(Take take) {
  for (;;) {
    Result<Buffer> taken = take();
    if (taken.ok() || !DropOldest()) return taken;
  }
}

void Pool::TrimAtHighWater() {
  const std::int64_t limit = budget_.limit_buffers();
  if (status_.cached_buffers == 0 || budget_.used_buffers() < HighWater(limit)) return;
  ++status_.trims;
  while (budget_.used_buffers() > LowWater(limit) && DropOldest()) {
  }
}

bool Pool::DropOldest() {
  Entries* oldest = nullptr;
  for (auto& [size, shelf] : cached_) {
    if (shelf.empty()) continue;
    if (oldest == nullptr || shelf.front().freed_at < oldest->front().freed_at) oldest = &shelf;
  }
  if (oldest == nullptr) return false;
  --status_.cached_buffers;
  status_.cached_bytes -= oldest->front().size;
  oldest->pop_front();
  return true;
}

Bytes Pool::Trim(Bytes wanted) {
  std::lock_guard lock(mutex_);
  const Bytes before = status_.cached_bytes;
  while (before - status_.cached_bytes < wanted && DropOldest()) {
  }
  return before - status_.cached_bytes;
}

PoolStatus Pool::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace tonnage
