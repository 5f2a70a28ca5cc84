#include "backend/host/weight_store.h"

#include "quant/unpack.h"

namespace tonnage {

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
                              .format = place.format,
                              .experts = place.experts,
                              .n = place.n,
                              .k = place.k,
                              .data = store->PlaceOf(place)});
  }
  store->stored_.resize(graph.weights.size());
  return store;
}

Status HostWeightStore::Store(WeightId id, const WeightView& source) {
  if (id.id < 0 || static_cast<size_t>(id.id) >= stored_.size()) {
    return Internal("weight {} does not exist", id.id);
  }
  const auto index = static_cast<size_t>(id.id);
  const WeightPlace& place = plan_.places[index];
  if (source.format != place.format || source.experts != place.experts || source.n != place.n ||
      source.k != place.k) {
    return Internal("weight `{}` is {} [{}, {}, {}], but was planned as {} [{}, {}, {}]",
                    names_[index], source.format.Name(), source.experts, source.n, source.k,
                    place.format.Name(), place.experts, place.n, place.k);
  }
  std::uint8_t* out = PlaceOf(place);
  if (place.kernel == nullptr) {
    UnpackRow(source, 0, {reinterpret_cast<float*>(out), static_cast<size_t>(place.k)});
  } else {
    std::lock_guard lock(pool_mutex_);
    for (std::int64_t expert = 0; expert < place.experts; ++expert) {
      place.kernel->pack(source, expert, out + expert * place.matrix_bytes, pool_);
    }
  }
  stored_[index] = true;
  return {};
}

Status HostWeightStore::CheckComplete(const WeightPlan& plan) const {
  if (plan != plan_) return Internal("the weights were stored for another program");
  for (size_t id = 0; id < stored_.size(); ++id) {
    if (!stored_[id]) return Internal("weight `{}` was never stored", names_[id]);
  }
  return {};
}

const float* HostWeightStore::Vector(WeightId id) const {
  if (!id.valid()) return nullptr;
  return reinterpret_cast<const float*>(PlaceOf(plan_.places[static_cast<size_t>(id.id)]));
}

}  // namespace tonnage
