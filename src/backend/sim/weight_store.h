// Weights on a simulated device: the host's store, filled by copies in blocks of rows that go over
// in bounded submissions. One thread; the device outlives it.
#pragma once

#include <memory>
#include <utility>

#include "backend/host/weight_store.h"
#include "backend/sim/copy_batch.h"

namespace tonnage {

class SimWeightStore final : public WeightStore {
 public:
  SimWeightStore(std::unique_ptr<HostWeightStore> store, SimDevice& device,
                 const SubmissionLimits& limits)
      : store_(std::move(store)), device_(device), limits_(limits), batch_(device, limits) {}

  Status Store(WeightId id, std::int64_t first_row, const WeightView& rows) override;
  // Everything is on the device once this returns well; the store is spent.
  Result<std::unique_ptr<HostWeightStore>> Finish();

  // Refused, naming the weight, if not even the smallest block of one fits into a submission.
  static Status Check(const Graph& graph, const WeightPlan& plan, const DeviceSpeed& speed,
                      const SubmissionLimits& limits);

 private:
  std::unique_ptr<HostWeightStore> store_;
  SimDevice& device_;
  const SubmissionLimits limits_;
  CopyBatch batch_;
};

}  // namespace tonnage
