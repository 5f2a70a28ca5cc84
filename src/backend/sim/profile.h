// What a simulated device is made of, as data: the memory, limits and rates of devices that people
// have, so that a machine without one can say what would happen on it. Values.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "graph/submissions.h"

namespace tonnage {

inline constexpr double kNoWatchdog = std::numeric_limits<double>::infinity();

struct SimProfile {
  std::string_view name;  // as in --device sim:<name>
  std::string_view description;
  Bytes memory_bytes = 0;
  Bytes page_bytes = 1;              // buffers take whole ones; at most 64 KiB
  std::int64_t buffers = 0;          // that may exist at a time
  Bytes context_bytes = 0;           // what the driver takes for a process that uses the device
  double watchdog_ms = kNoWatchdog;  // the longest that a submission may run
  double fence_ms = 0;               // a wait for what another device has done
  DeviceSpeed speed;
  SubmissionLimits submission;  // what we hand it at a time
};

std::span<const SimProfile> SimProfiles();
// InvalidArgument with the list of them for a name that none has.
Result<SimProfile> FindSimProfile(std::string_view name);

}  // namespace tonnage
