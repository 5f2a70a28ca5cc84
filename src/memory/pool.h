// Reuses buffers: one that is freed stays cached until another of its size class is asked for, so
// that a loader or a tool which takes and gives buffers of many sizes does not have the system map
// and clear their pages each time. The cache never stands in anybody's way: it is dropped, the
// longest unused first, when buffers come near their limit and before anything is refused. Budget
// and ledger count cached buffers like live ones, in the line of their last owner. Safe from any
// thread; what it stands on outlives it, and it outlives its buffers.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/bytes.h"
#include "base/result.h"
#include "memory/budget.h"
#include "memory/buffer.h"

namespace tonnage {

struct PoolStatus {
  std::int64_t live_buffers = 0;
  std::int64_t cached_buffers = 0;
  Bytes live_bytes = 0;
  Bytes cached_bytes = 0;
  std::int64_t peak_buffers = 0;  // live and cached
  Bytes peak_bytes = 0;
  std::int64_t reuses = 0;  // buffers that came from the cache
  std::int64_t trims = 0;   // times that buffers were near their limit
};

class Pool final : public Allocator {
 public:
  // `budget` is the one that `base` reserves from.
  Pool(Allocator& base, const Budget& budget) : base_(base), budget_(budget) {}
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Result<Buffer> Allocate(Owner owner, Bytes bytes) override;
  // A size class reaches at most a quarter beyond what is asked for.
  Bytes Footprint(Bytes bytes) const override;
  Result<Buffer> Account(Owner owner, Bytes bytes) override;

  // Gives back cached buffers, the longest unused first, until that is so many bytes or none is
  // left; how many it was.
  Bytes Trim(Bytes wanted = INT64_MAX);
  PoolStatus status() const;

  // The device's buffers, those of others included, at which cached ones are dropped, and down to
  // which. What lies between keeps a pool that stands at the mark from trimming each time.
  static std::int64_t HighWater(std::int64_t limit_buffers) {
    return limit_buffers - limit_buffers / 10;
  }
  static std::int64_t LowWater(std::int64_t limit_buffers) {
    return limit_buffers - limit_buffers / 5;
  }

 protected:
  void Free(std::uint8_t* data, Bytes bytes) override;

 private:
  struct Entry {
    Buffer buffer;
    Bytes size = 0;  // of its class, in what the base counts
    std::uint64_t freed_at = 0;
  };
  using Entries = std::list<Entry>;

  // All under mutex_.
  template <typename Take>
  Result<Buffer> TakeFromBase(Take take);
  void TrimAtHighWater();
  bool DropOldest();  // false when nothing is cached
  void Lend(Entries& from, Entries::iterator entry);

  Allocator& base_;
  const Budget& budget_;

  mutable std::mutex mutex_;  // guards what follows; held while the base allocates
  Entries live_;
  std::unordered_map<const std::uint8_t*, Entries::iterator> live_at_;
  std::map<Bytes, Entries> cached_;  // by size class; each the longest unused first
  std::uint64_t frees_ = 0;
  PoolStatus status_;
};

}  // namespace tonnage
