#include "backend/sim/faults.h"

namespace tonnage {

std::string_view FaultPointName(FaultPoint point) {
  static constexpr std::string_view kNames[kFaultPoints] = {"allocation", "launch", "copy",
                                                            "completion"};
  return kNames[static_cast<size_t>(point)];
}

void FaultInjector::Arm(const Fault& fault) {
  armed_.push_back(fault);
  armed_.back().n += passed_[static_cast<size_t>(fault.point)];
}

std::optional<FaultEffect> FaultInjector::Pass(FaultPoint point, std::int64_t count) {
  std::int64_t& passed = passed_[static_cast<size_t>(point)];
  const std::int64_t before = passed;
  passed += count;
  for (auto fault = armed_.begin(); fault != armed_.end(); ++fault) {
    if (fault->point != point || fault->n <= before || fault->n > passed) continue;
    const FaultEffect effect = fault->effect;
    armed_.erase(fault);
    ++hits_;
    return effect;
  }
  return std::nullopt;
}

}  // namespace tonnage
