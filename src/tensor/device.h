// Which device something lives on. Always resolved explicitly: there is no ambient default device.
#pragma once

#include <string>

namespace tonnage {

enum class DeviceKind { kCpu, kCuda, kSim };

struct DeviceId {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  bool operator==(const DeviceId&) const = default;
  // "cpu:0", "cuda:1".
  std::string ToString() const {
    const char* name = kind == DeviceKind::kCpu    ? "cpu"
                       : kind == DeviceKind::kCuda ? "cuda"
                                                   : "sim";
    return std::string(name) + ":" + std::to_string(index);
  }
};

}  // namespace tonnage
