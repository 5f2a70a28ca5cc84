// The bounds that speed is measured against: loops that do nothing but load, or nothing but
// multiply and add, as fast as this processor can. Whoever measures gives the threads, the memory
// to read and the features that may be used; nothing is kept.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"

namespace tonnage {

// Of the factors of a product.
enum class Arithmetic : std::uint8_t { kF32, kBf16, kInt8 };

// Independent multiply-adds on one thread, in registers.
struct PeakLoop {
  std::string_view name;  // "int8_amx"
  Arithmetic arithmetic;
  bool (*runs)(const CpuFeatures& features);
  double operations;  // of a round; a multiply-add is two
  void (*run)(std::int64_t rounds);
};

// Every loop, of each arithmetic the fastest first.
std::span<const PeakLoop> PeakLoops();

struct PeakRate {
  std::string_view name;
  Arithmetic arithmetic;
  double operations_per_s = 0;
};

struct Peaks {
  double read_bytes_per_s = 0;
  std::vector<PeakRate> rates;  // of every loop that the features allow

  // The best rate of this arithmetic or, where the processor has none, of f32.
  double OperationsPerSecond(Arithmetic arithmetic) const;
  // Takes what is better from another measurement with the same features.
  void TakeBest(const Peaks& other);
};

// Memory enough that what is read from it again and again comes from memory: some times the largest
// cache, which has 300 MB on some processors; without any knowledge of it, 512 MiB.
Bytes ColdBytes();

// The best of several runs on all of the pool's threads. `memory`, ColdBytes() or more, is
// overwritten.
double MeasureRead(std::span<std::uint8_t> memory, const CpuFeatures& features, ThreadPool& pool);
double MeasureOperations(const PeakLoop& loop, ThreadPool& pool);
Peaks MeasurePeaks(std::span<std::uint8_t> memory, const CpuFeatures& features, ThreadPool& pool);

}  // namespace tonnage
