#include "backend/sim/device.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace tonnage {
namespace {

constexpr size_t kAlignment = 64;
// Where no watchdog looks, a driver that waits for ever is given up at last.
constexpr double kPatienceMs = 60'000;

// What `tenant` holds once `at` has come.
Bytes HeldAt(const SimTenant& tenant, double at) {
  Bytes bytes = 0;
  for (const SimTenant::Move& move : tenant.moves) {
    if (move.at <= at) bytes = move.bytes;
  }
  return bytes;
}

}  // namespace

SimDevice::SimDevice(SimDeviceOptions options)
    : options_(std::move(options)), budget_(0, options_.profile.buffers, "") {
  CHECK_LE(options_.profile.page_bytes, 64 * kKiB);
  std::lock_guard lock(mutex_);
  MoveTenants();
}

SimDevice::~SimDevice() {
  CHECK_EQ(allocated_buffers_, 0) << Name() << ": a buffer outlives its device";
}

std::string SimDevice::Name() const { return fmt::format("sim:{}", options_.profile.name); }

// ---- Memory -------------------------------------------------------------------------------------

Bytes SimDevice::Footprint(Bytes bytes) const {
  return RoundUp(bytes, options_.profile.page_bytes);
}

Result<Buffer> SimDevice::Allocate(Owner owner, Bytes bytes) {
  {
    std::lock_guard lock(mutex_);
    if (!health_.ok()) return health_.error().In(OwnerName(owner));
    if (const auto effect = faults_.Pass(FaultPoint::kAllocation)) {
      if (*effect != FaultEffect::kError) return Fail(*effect, FaultPoint::kAllocation).error();
      return Refused("{}: {} gave no {} of memory", OwnerName(owner), Name(), FormatBytes(bytes));
    }
  }
  auto reservation = budget_.Reserve(Footprint(bytes));
  if (!reservation.ok()) return reservation.error().In(OwnerName(owner));
  std::uint8_t* data = nullptr;
  if (bytes > 0) {
    data = static_cast<std::uint8_t*>(std::aligned_alloc(
        kAlignment, static_cast<size_t>(RoundUp(bytes, static_cast<Bytes>(kAlignment)))));
    if (data == nullptr) {
      return Refused("{}: this machine gave no {} of memory to simulate {} with", OwnerName(owner),
                     FormatBytes(bytes), Name());
    }
    std::lock_guard lock(mutex_);
    allocated_bytes_ += Footprint(bytes);
    ++allocated_buffers_;
  }
  return MakeBuffer(this, &ledger_, std::move(reservation).value(), owner, data, bytes);
}

Result<Buffer> SimDevice::Account(Owner owner, Bytes bytes) {
  auto reservation = budget_.Reserve(bytes);
  if (!reservation.ok()) return reservation.error().In(OwnerName(owner));
  if (bytes > 0) {
    std::lock_guard lock(mutex_);
    allocated_bytes_ += bytes;
    ++allocated_buffers_;
  }
  return MakeBuffer(this, &ledger_, std::move(reservation).value(), owner, nullptr, bytes);
}

void SimDevice::Free(std::uint8_t* data, Bytes bytes) {
  if (bytes == 0) return;
  std::free(data);
  std::lock_guard lock(mutex_);
  allocated_bytes_ -= data != nullptr ? Footprint(bytes) : bytes;
  --allocated_buffers_;
}

Bytes SimDevice::allocated_bytes() const {
  std::lock_guard lock(mutex_);
  return allocated_bytes_;
}

std::int64_t SimDevice::allocated_buffers() const {
  std::lock_guard lock(mutex_);
  return allocated_buffers_;
}

void SimDevice::SetForeignBytes(Bytes bytes) {
  std::lock_guard lock(mutex_);
  foreign_bytes_ = bytes;
  MoveTenants();
}

void SimDevice::MoveTenants() {
  Bytes held = foreign_bytes_;
  for (const SimTenant& tenant : options_.tenants) {
    const bool by_time = tenant.unit == SimTenant::Unit::kModelledMs;
    held += HeldAt(tenant, by_time ? now_ms_ : static_cast<double>(statistics_.submissions));
  }
  const Bytes left = std::max<Bytes>(0, options_.profile.memory_bytes - held);
  if (options_.limit_bytes < left) {
    budget_.SetLimit(options_.limit_bytes, options_.limit_source);
  } else {
    budget_.SetLimit(left, held > 0 ? Name() + " beside other tenants" : Name());
  }
}

// ---- Time ---------------------------------------------------------------------------------------

void SimDevice::Advance(double ms) {
  now_ms_ += ms;
  if (!options_.tenants.empty()) MoveTenants();
}

Status SimDevice::Run(const Work& work, FaultPoint kind) {
  std::lock_guard lock(mutex_);
  if (!health_.ok()) return health_;
  ++statistics_.submissions;
  if (const auto effect = faults_.Pass(kind, work.launches)) return Fail(*effect, kind);
  const double ms = options_.profile.speed.submission_ms + work.ms;
  if (ms > options_.profile.watchdog_ms) return Kill(work, ms);
  Advance(ms);
  statistics_.longest_ms = std::max(statistics_.longest_ms, ms);
  statistics_.most_bytes = std::max(statistics_.most_bytes, work.bytes);
  statistics_.most_launches = std::max(statistics_.most_launches, work.launches);
  if (const auto effect = faults_.Pass(FaultPoint::kCompletion)) {
    return Fail(*effect, FaultPoint::kCompletion);
  }
  return {};
}

Status SimDevice::Fail(FaultEffect effect, FaultPoint kind) {
  const std::string_view what = FaultPointName(kind);
  switch (effect) {
    case FaultEffect::kError:
      health_ = Unavailable("{}: a {} failed", Name(), what);
      break;
    case FaultEffect::kHang: {
      const double ms = std::min(options_.profile.watchdog_ms, kPatienceMs);
      Advance(ms);
      ++statistics_.kills;
      health_ = Unavailable("{}: a {} hung and was ended after {:g} ms", Name(), what, ms);
      break;
    }
    case FaultEffect::kLost:
      health_ = Unavailable("{}: the device was lost in a {}", Name(), what);
      break;
  }
  return health_;
}

Status SimDevice::Kill(const Work& work, double ms) {
  Advance(options_.profile.watchdog_ms);
  ++statistics_.kills;
  health_ = Unavailable(
      "{}: the watchdog ended a submission of {} launches and {} that takes {:.1f} ms; {:g} are "
      "allowed",
      Name(), work.launches, FormatBytes(work.bytes), ms, options_.profile.watchdog_ms);
  return health_;
}

void SimDevice::WaitFor(const SimDevice& other) {
  const double done_ms = other.now_ms();
  std::lock_guard lock(mutex_);
  ++statistics_.fences;
  Advance(std::max(0.0, done_ms - now_ms_) + options_.profile.fence_ms);
}

double SimDevice::now_ms() const {
  std::lock_guard lock(mutex_);
  return now_ms_;
}

SimStatistics SimDevice::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

Status SimDevice::health() const {
  std::lock_guard lock(mutex_);
  return health_;
}

void SimDevice::Arm(const Fault& fault) {
  std::lock_guard lock(mutex_);
  faults_.Arm(fault);
}

std::int64_t SimDevice::faults_hit() const {
  std::lock_guard lock(mutex_);
  return faults_.hits();
}

}  // namespace tonnage
