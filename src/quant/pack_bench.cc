// Quantizing and dequantizing, one thread: bytes of float32 a second, in or out.
#include <benchmark/benchmark.h>

#include "quant/testing.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

constexpr std::int64_t kRows = 64, kK = 4096;

void PackRows(benchmark::State& state, const Format& format, const PackOptions& options) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(kRows * kK);
  for (float& value : values) value = normal(random);
  for (auto _ : state) benchmark::DoNotOptimize(Pack(format, 1, kRows, kK, values, options));
  state.SetBytesProcessed(state.iterations() * kRows * kK * 4);
}

void UnpackRows(benchmark::State& state, const Format& format) {
  std::mt19937 random(1);
  const QuantizedWeight weight = RandomWeight(format, 1, kRows, kK, random);
  std::vector<float> out(kK);
  for (auto _ : state) {
    for (std::int64_t row = 0; row < kRows; ++row) UnpackRow(weight.View(), row, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * kRows * kK * 4);
}

const bool registered = [] {
  for (const Format& format : AllFormats()) {
    benchmark::RegisterBenchmark(("unpack/" + format.Name()).c_str(), UnpackRows, format);
    if (!CanPack(format.kind)) continue;
    benchmark::RegisterBenchmark(("pack/" + format.Name()).c_str(), PackRows, format,
                                 PackOptions{});
  }
  for (const FormatKind kind : {FormatKind::kMxfp4, FormatKind::kMxfp8, FormatKind::kNvfp4}) {
    const Format format = Format::Of(kind);
    benchmark::RegisterBenchmark(("pack from f16/" + format.Name()).c_str(), PackRows, format,
                                 PackOptions{.source = DType::kF16});
  }
  return true;
}();

}  // namespace
}  // namespace tonnage
