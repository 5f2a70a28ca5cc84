#include "backend/host/weight_store.h"

#include <algorithm>

#include "quant/rows.h"
#include "quant/unpack.h"

namespace tonnage {

static_assert(kStoreBlockRows % kPackRows == 0, "a block of a store is whole blocks of a kernel");

Result<std::unique_ptr<HostWeightStore>> HostWeightStore::Make(const Graph& graph, WeightPlan plan,
                                                               Allocator& allocator,
                                                               ThreadPool& pool,
                                                               std::mutex& pool_mutex) {
  std::unique_ptr<HostWeightStore> store(new HostWeightStore(std::move(plan), pool, pool_mutex));
  for (Bytes bytes : store->plan_.buffer_bytes) {
    ASSIGN_OR_RETURN(Buffer buffer, allocator.Allocate(Owner::kWeights, bytes));
    store->buffers_.push_back(std::move(buffer));
  }
  for (size_t id = 0; id < graph.weights.size(); ++id) {
    const WeightPlace& place = store->plan_.places[id];
    store->names_.push_back(graph.weights[id].name);
    store->packed_.push_back({.kernel = place.kernel,
                              .prompt_kernel = place.prompt_kernel,
                              .format = place.format,
                              .experts = place.experts,
                              .n = place.n,
                              .k = place.k,
                              .data = store->PlaceOf(place)});
  }
  store->stored_rows_.resize(graph.weights.size());
  return store;
}

Status HostWeightStore::CheckBlock(WeightId id, std::int64_t first_row,
                                   const WeightView& rows) const {
  if (id.id < 0 || static_cast<size_t>(id.id) >= stored_rows_.size()) {
    return Internal("weight {} does not exist", id.id);
  }
  const auto index = static_cast<size_t>(id.id);
  const WeightPlace& place = plan_.places[index];
  if (rows.format != place.format || rows.k != place.k) {
    return Internal("weight `{}` is {} rows of {}, but was planned as {} rows of {}", names_[index],
                    rows.format.Name(), rows.k, place.format.Name(), place.k);
  }
  const std::int64_t count = rows.experts * rows.n;
  if (first_row < 0 || first_row % place.n % kStoreBlockRows != 0 ||
      first_row + count > place.experts * place.n) {
    return Internal("weight `{}` has no block of rows {} to {} of {} by {}", names_[index],
                    first_row, first_row + count, place.experts, place.n);
  }
  return {};
}

Status HostWeightStore::Store(WeightId id, std::int64_t first_row, const WeightView& rows) {
  RETURN_IF_ERROR(CheckBlock(id, first_row, rows));
  const auto index = static_cast<size_t>(id.id);
  const WeightPlace& place = plan_.places[index];
  std::uint8_t* out = PlaceOf(place);
  const std::int64_t count = rows.experts * rows.n;
  if (place.kernel == nullptr) {
    UnpackRow(rows, 0, {reinterpret_cast<float*>(out), static_cast<size_t>(place.k)});
  } else {
    std::lock_guard lock(pool_mutex_);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t expert = (first_row + done) / place.n, row = (first_row + done) % place.n;
      const std::int64_t taken = std::min(count - done, place.n - row);
      place.kernel->pack(SliceRows(rows, done, taken), row, place.n,
                         out + expert * place.matrix_bytes, pool_);
      done += taken;
    }
  }
  stored_rows_[index] += count;
  return {};
}

Status HostWeightStore::CheckComplete(const WeightPlan& plan) const {
  if (plan != plan_) return Internal("the weights were stored for another program");
  for (size_t id = 0; id < stored_rows_.size(); ++id) {
    const std::int64_t wanted = plan_.places[id].experts * plan_.places[id].n;
    if (stored_rows_[id] == 0) return Internal("weight `{}` was never stored", names_[id]);
    if (stored_rows_[id] != wanted) {
      return Internal("weight `{}`: {} of its {} rows were stored", names_[id], stored_rows_[id],
                      wanted);
    }
  }
  return {};
}

const float* HostWeightStore::Vector(WeightId id) const {
  if (!id.valid()) return nullptr;
  return reinterpret_cast<const float*>(PlaceOf(plan_.places[static_cast<size_t>(id.id)]));
}

}  // namespace tonnage
