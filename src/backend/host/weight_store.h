// The weights of one model in memory that the host can reach: a buffer a layer, every matrix in the
// layout of its kernel, every vector as f32. Filled by one thread while the model loads, then owned
// by a program.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.h"
#include "backend/host/plan.h"
#include "base/thread_pool.h"

namespace tonnage {

class HostWeightStore final : public WeightStore {
 public:
  // Allocates everything. `pool` is used under `pool_mutex`; both outlive the store.
  static Result<std::unique_ptr<HostWeightStore>> Make(const Graph& graph, WeightPlan plan,
                                                       Allocator& allocator, ThreadPool& pool,
                                                       std::mutex& pool_mutex);

  Status Store(WeightId id, std::int64_t first_row, const WeightView& rows) override;
  // Internal if Store would not take these rows.
  Status CheckBlock(WeightId id, std::int64_t first_row, const WeightView& rows) const;

  // Internal if the weights lie otherwise than in `plan`, or one was not stored whole, which is
  // named.
  Status CheckComplete(const WeightPlan& plan) const;
  // Stays in its place as long as the store lives.
  const PackedWeight& Matrix(WeightId id) const { return packed_[static_cast<size_t>(id.id)]; }
  // [width], or null for an invalid id.
  const float* Vector(WeightId id) const;

 private:
  HostWeightStore(WeightPlan plan, ThreadPool& pool, std::mutex& pool_mutex)
      : plan_(std::move(plan)), pool_(pool), pool_mutex_(pool_mutex) {}
  std::uint8_t* PlaceOf(const WeightPlace& place) const {
    return buffers_[place.buffer].data() + place.offset;
  }

  WeightPlan plan_;
  ThreadPool& pool_;
  std::mutex& pool_mutex_;
  std::vector<Buffer> buffers_;
  std::vector<std::string> names_;         // by WeightId
  std::vector<PackedWeight> packed_;       // by WeightId; vectors have no kernel
  std::vector<std::int64_t> stored_rows_;  // by WeightId
};

}  // namespace tonnage
