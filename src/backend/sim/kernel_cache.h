// Kernels as a driver keeps them: compiled once for a device and found again by device and name. A
// kernel that was compiled for one device can never be picked up for another. Safe from any thread;
// what it hands out stays as long as the cache.
#pragma once

#include <compare>
#include <map>
#include <mutex>
#include <string>

#include "graph/submissions.h"
#include "tensor/device.h"

namespace tonnage {

struct CompiledKernel {
  DeviceId device;
  std::string name;
  DeviceSpeed speed;  // of the device that it was compiled for
};

class KernelCache {
 public:
  const CompiledKernel& Get(DeviceId device, const DeviceSpeed& speed, const std::string& name) {
    std::lock_guard lock(mutex_);
    const Key key{static_cast<int>(device.kind), device.index, name};
    return kernels_.try_emplace(key, CompiledKernel{device, name, speed}).first->second;
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return kernels_.size();
  }

 private:
  struct Key {
    int kind = 0;
    int index = 0;
    std::string name;
    auto operator<=>(const Key&) const = default;
  };
  mutable std::mutex mutex_;
  std::map<Key, CompiledKernel> kernels_;
};

}  // namespace tonnage
