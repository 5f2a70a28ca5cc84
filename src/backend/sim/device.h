// A simulated device: memory, a clock and a watchdog, as a profile says, other tenants that take
// memory beside us, and faults where a test asks for them. It computes nothing: the backend's
// kernels do, on the host, and tell it of every submission. Time is modelled, so that a run takes
// the same time on every machine. Safe from any thread; outlives its buffers.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "backend/sim/faults.h"
#include "backend/sim/profile.h"
#include "graph/submissions.h"
#include "memory/budget.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "tensor/device.h"

namespace tonnage {

// Somebody else on the device: from each move on it holds so many bytes.
struct SimTenant {
  enum class Unit : std::uint8_t { kModelledMs, kSubmissions };
  struct Move {
    double at = 0;
    Bytes bytes = 0;
  };
  Unit unit = Unit::kModelledMs;
  std::vector<Move> moves;  // in rising order of `at`
};

struct SimDeviceOptions {
  SimProfile profile;
  int index = 0;
  // The user's limit on our own memory, and what it is called.
  Bytes limit_bytes = std::numeric_limits<Bytes>::max();
  std::string limit_source = {};
  std::vector<SimTenant> tenants = {};
};

// Of all submissions so far.
struct SimStatistics {
  std::int64_t submissions = 0;
  double longest_ms = 0;
  Bytes most_bytes = 0;
  std::int64_t most_launches = 0;
  std::int64_t kills = 0;   // by the watchdog
  std::int64_t fences = 0;  // waits for another device
};

class SimDevice final : public Allocator {
 public:
  explicit SimDevice(SimDeviceOptions options);
  ~SimDevice() override;

  DeviceId id() const { return {DeviceKind::kSim, options_.index}; }
  const SimProfile& profile() const { return options_.profile; }
  const Ledger& ledger() const { return ledger_; }
  const Budget& budget() const { return budget_; }
  Budget& budget() { return budget_; }

  // The allocator: whole pages of host memory that stand for the device's.
  Result<Buffer> Allocate(Owner owner, Bytes bytes) override;
  Bytes Footprint(Bytes bytes) const override;
  Result<Buffer> Account(Owner owner, Bytes bytes) override;
  // What exists now, counted apart from ledger and budget, which must agree with it.
  Bytes allocated_bytes() const;
  std::int64_t allocated_buffers() const;

  // One submission, of launches or of copies: it takes its modelled time, unless a fault or the
  // watchdog ends it. A device that failed once fails everything that follows with the first error.
  Status Run(const Work& work, FaultPoint kind);
  // Between submissions: waits for all that `other` has been given.
  void WaitFor(const SimDevice& other);

  double now_ms() const;
  SimStatistics statistics() const;
  Status health() const;

  void Arm(const Fault& fault);
  std::int64_t faults_hit() const;
  // What others hold from now on beside the tenants with a schedule.
  void SetForeignBytes(Bytes bytes);

 protected:
  void Free(std::uint8_t* data, Bytes bytes) override;

 private:
  // All under mutex_.
  void Advance(double ms);
  void MoveTenants();
  Status Fail(FaultEffect effect, FaultPoint kind);
  Status Kill(const Work& work, double ms);
  std::string Name() const;

  const SimDeviceOptions options_;
  Ledger ledger_;
  Budget budget_;

  mutable std::mutex mutex_;  // guards what follows
  FaultInjector faults_;
  Status health_;
  double now_ms_ = 0;
  Bytes foreign_bytes_ = 0;
  Bytes allocated_bytes_ = 0;
  std::int64_t allocated_buffers_ = 0;
  SimStatistics statistics_;
};

}  // namespace tonnage
