#include "backend/sim/weight_store.h"

#include <algorithm>

#include "quant/rows.h"

namespace tonnage {
namespace {

Bytes RowBytesOf(const Format& format, std::int64_t k) {
  const std::optional<RowBytes> row = FormatRowBytes(format, k);
  CHECK(row.has_value()) << format.Name() << " rows of " << k;
  return row->Total();
}

}  // namespace

Status SimWeightStore::Check(const Graph& graph, const WeightPlan& plan, const DeviceSpeed& speed,
                             const SubmissionLimits& limits) {
  for (size_t id = 0; id < plan.places.size(); ++id) {
    const WeightPlace& place = plan.places[id];
    const Bytes row_bytes = RowBytesOf(place.format, place.k);
    const std::int64_t block = std::min(place.n, kStoreBlockRows);
    if (RowsPerCopy(row_bytes, speed, limits) >= block) continue;
    return Refused(
        "weight `{}`: {} rows of {} are more than a submission may copy: raise its limits",
        graph.weights[id].name, block, FormatBytes(row_bytes));
  }
  return {};
}

Status SimWeightStore::Store(WeightId id, std::int64_t first_row, const WeightView& rows) {
  RETURN_IF_ERROR(store_->CheckBlock(id, first_row, rows));
  const DeviceSpeed& speed = device_.profile().speed;
  const Bytes row_bytes = RowBytesOf(rows.format, rows.k);
  const std::int64_t n = store_->Matrix(id).n;
  const std::int64_t count = rows.experts * rows.n;
  const std::int64_t fitting = RowsPerCopy(row_bytes, speed, limits_);
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t left = std::min(count - done, n - (first_row + done) % n);
    const std::int64_t taken = fitting >= left ? left : fitting / kStoreBlockRows * kStoreBlockRows;
    CHECK_GT(taken, 0) << "was checked before";
    RETURN_IF_ERROR(batch_.Add(CopyWork(taken * row_bytes, speed)));
    RETURN_IF_ERROR(store_->Store(id, first_row + done, SliceRows(rows, done, taken)));
    done += taken;
  }
  return {};
}

Result<std::unique_ptr<HostWeightStore>> SimWeightStore::Finish() {
  RETURN_IF_ERROR(batch_.Commit());
  return std::move(store_);
}

}  // namespace tonnage
