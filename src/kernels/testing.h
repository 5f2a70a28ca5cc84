// What tests and benches of several kernel families share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/variant.h"

namespace tonnage {

// Normally distributed, the same for the same seed.
inline std::vector<float> RandomFloats(std::int64_t count, unsigned seed, float deviation = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> number(0.0f, deviation);
  std::vector<float> floats(static_cast<size_t>(count));
  for (float& value : floats) value = number(random);
  return floats;
}

// Zeroed and 64-byte aligned, as workspaces are.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)),
        data_(static_cast<std::uint8_t*>(::operator new(bytes_, kAlignment))) {
    std::fill(data_.get(), data_.get() + bytes_, std::uint8_t{0});
  }
  std::span<std::uint8_t> span() const { return {data_.get(), bytes_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::uint8_t* data) const { ::operator delete(data, kAlignment); }
  };
  size_t bytes_;
  std::unique_ptr<std::uint8_t, Free> data_;
};

// The rows of a table that this processor can run.
template <typename Kernel>
std::vector<Kernel> RunnableKernels(std::span<const Kernel> table) {
  std::vector<Kernel> runnable;
  for (const Kernel& kernel : table) {
    if (Runs(kernel.level, CpuFeatures::Detect())) runnable.push_back(kernel);
  }
  return runnable;
}

// The row of a table with this name, if this processor can run it.
template <typename Kernel>
const Kernel* FindKernel(std::span<const Kernel> table, std::string_view name) {
  for (const Kernel& kernel : table) {
    if (kernel.name == name && Runs(kernel.level, CpuFeatures::Detect())) return &kernel;
  }
  return nullptr;
}

}  // namespace tonnage
