// Which operations of a simulated device go wrong, and how: chosen by their number, so that a run
// can be repeated and every place where something can fail can be visited in turn. One thread at a
// time; the device holds its lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tonnage {

// What is counted: buffers asked for, launches and copies begun, submissions ended.
enum class FaultPoint : std::uint8_t { kAllocation, kLaunch, kCopy, kCompletion };
inline constexpr int kFaultPoints = 4;
std::string_view FaultPointName(FaultPoint point);

enum class FaultEffect : std::uint8_t {
  kError,  // the operation fails
  kHang,   // it never ends: only the watchdog ends it
  kLost,   // the device is gone
};

// The n-th operation of its kind, counted from 1 and from when the fault was armed.
struct Fault {
  FaultPoint point = FaultPoint::kAllocation;
  std::int64_t n = 1;
  FaultEffect effect = FaultEffect::kError;
};

class FaultInjector {
 public:
  // Beside those that are armed already.
  void Arm(const Fault& fault);
  // `count` more operations begin; what befalls them, if anything does.
  std::optional<FaultEffect> Pass(FaultPoint point, std::int64_t count = 1);
  std::int64_t hits() const { return hits_; }

 private:
  std::array<std::int64_t, kFaultPoints> passed_{};
  std::vector<Fault> armed_;  // n counts from the beginning
  std::int64_t hits_ = 0;
};

}  // namespace tonnage
