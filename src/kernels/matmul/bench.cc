// Weight bytes per second for decode beside the read bandwidth, and operations per second for
// prefill beside the arithmetic peak, both measured in the same run on the same threads
// (TONNAGE_BENCH_THREADS, by default all). Outputs are checked before anything is timed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "kernels/matmul/matmul.h"
#include "kernels/peak/peak.h"
#include "quant/testing.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

// Copies of weights that are used in turn, so that they come from memory as they do layer after
// layer. Fewer bytes than for the bound, since each benchmark makes its own.
constexpr Bytes kCopiesBytes = 512 * kMiB;

int Threads() {
  const char* text = std::getenv("TONNAGE_BENCH_THREADS");
  return text != nullptr ? std::atoi(text)
                         : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

ThreadPool& Pool() {
  static ThreadPool pool(Threads());
  return pool;
}

struct Free {
  void operator()(std::uint8_t* data) const { std::free(data); }
};
using AlignedBytes = std::unique_ptr<std::uint8_t, Free>;

AlignedBytes Allocate(Bytes bytes) {
  return AlignedBytes(static_cast<std::uint8_t*>(
      std::aligned_alloc(2 * kMiB, static_cast<std::size_t>(RoundUp(bytes + 1, 2 * kMiB)))));
}

const Peaks& Bounds() {
  static const Peaks peaks = [] {
    const AlignedBytes memory = Allocate(ColdBytes());
    return MeasurePeaks({memory.get(), static_cast<std::size_t>(ColdBytes())},
                        CpuFeatures::Detect(), Pool());
  }();
  return peaks;
}

double ReadBandwidth() { return Bounds().read_bytes_per_s; }

// Multiply-adds count as two operations.
double ArithmeticPeak(Precision precision) {
  return Bounds().OperationsPerSecond(precision == Precision::kFast ? Arithmetic::kInt8
                                                                    : Arithmetic::kF32);
}

std::vector<float> Noise(std::int64_t count) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

// [n, k], the same few rows again and again: quantizing is not what is measured.
QuantizedWeight RepeatedRows(const Format& format, std::int64_t n, std::int64_t k) {
  std::mt19937 random(1);
  const std::int64_t period = std::min<std::int64_t>(n, 64);
  QuantizedWeight weight = RandomWeight(format, 1, period, k, random);
  const auto repeat = [&](std::vector<std::uint8_t>& part) {
    const std::size_t once = part.size();
    part.resize(once / static_cast<std::size_t>(period) * static_cast<std::size_t>(n));
    for (std::size_t i = once; i < part.size(); ++i) part[i] = part[i - once];
  };
  repeat(weight.data);
  repeat(weight.scales);
  repeat(weight.biases);
  weight.n = n;
  return weight;
}

struct Setup {
  const MatmulKernel& kernel;
  const PromptMatmulKernel* prompt = nullptr;  // runs instead, on the former's layout
  PackedWeight weight = {};
  AlignedBytes bytes = {};  // `copies` packed weights
  Bytes packed_bytes = 0;
  std::int64_t copies = 1;
  std::vector<float> x = {}, y = {};
  AlignedBytes workspace = {};
  Bytes workspace_bytes = 0;

  void Run(std::int64_t rows, std::int64_t copy) {
    PackedWeight w = weight;
    w.data += copy * packed_bytes;
    const MatmulOutput output = {.weight = &w, .y = y.data()};
    const auto run = prompt != nullptr ? prompt->run : kernel.run;
    run({.x = x.data(), .rows = rows, .k = w.k, .outputs = {&output, 1}},
        {workspace.get(), static_cast<std::size_t>(workspace_bytes)}, Pool());
  }
};

Setup MakeSetup(const MatmulKernel& kernel, const Format& format, std::int64_t n, std::int64_t k,
                std::int64_t rows, bool cold, const PromptMatmulKernel* prompt = nullptr) {
  Setup setup = {.kernel = kernel, .prompt = prompt};
  const QuantizedWeight source = RepeatedRows(format, n, k);
  setup.packed_bytes = kernel.packed_bytes(format, n, k);
  setup.copies = cold ? std::max<std::int64_t>(1, kCopiesBytes / setup.packed_bytes) : 1;
  setup.bytes = Allocate(setup.copies * setup.packed_bytes);
  for (std::int64_t i = 0; i < setup.copies; ++i) {
    kernel.pack(source.View(), 0, n, setup.bytes.get() + i * setup.packed_bytes, Pool());
  }
  setup.weight = {.kernel = &kernel, .format = format, .n = n, .k = k, .data = setup.bytes.get()};
  setup.x = Noise(rows * k);
  setup.y.resize(static_cast<std::size_t>(rows * n));
  setup.workspace_bytes = prompt != nullptr ? prompt->workspace_bytes(rows, k, 1, Pool().threads())
                                            : kernel.workspace_bytes(rows, k, 1);
  setup.workspace = Allocate(setup.workspace_bytes);

  setup.Run(rows, setup.copies - 1);
  std::vector<float> w(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < n; i += std::max<std::int64_t>(1, n / 50)) {
    UnpackRow(source.View(), i, w);
    double sum = 0, magnitude = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const auto at = static_cast<std::size_t>(j);
      sum += setup.x[at] * w[at];
      magnitude += std::abs(w[at]);
    }
    CHECK(std::abs(setup.y[static_cast<std::size_t>(i)] - sum) < 0.01 * magnitude)
        << kernel.name << " is wrong: " << setup.y[static_cast<std::size_t>(i)] << " for " << sum;
  }
  return setup;
}

void Decode(benchmark::State& state, const MatmulKernel* kernel, Format format, std::int64_t n,
            std::int64_t k, std::int64_t rows) {
  Setup setup = MakeSetup(*kernel, format, n, k, rows, true);
  std::int64_t copy = 0;
  for (auto _ : state) {
    setup.Run(rows, copy);
    copy = (copy + 1) % setup.copies;
  }
  const double bytes = static_cast<double>(setup.packed_bytes);
  using benchmark::Counter;
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["read GB/s"] = ReadBandwidth() * 1e-9;
  state.counters["of bound"] = Counter(bytes / ReadBandwidth(), Counter::kIsIterationInvariantRate);
}

// Runs a call of many rows again and again, beside the arithmetic's rate.
void RunPrefill(benchmark::State& state, Setup setup, std::int64_t rows, double peak) {
  for (auto _ : state) setup.Run(rows, 0);
  const PackedWeight& weight = setup.weight;
  const double operations =
      2.0 * static_cast<double>(weight.n) * static_cast<double>(weight.k * rows);
  using benchmark::Counter;
  state.counters["GOP/s"] = Counter(operations * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["peak GOP/s"] = peak * 1e-9;
  state.counters["of bound"] = Counter(operations / peak, Counter::kIsIterationInvariantRate);
}

void Prefill(benchmark::State& state, const MatmulKernel* kernel, Format format, std::int64_t n,
             std::int64_t k, std::int64_t rows) {
  RunPrefill(state, MakeSetup(*kernel, format, n, k, rows, false), rows,
             ArithmeticPeak(kernel->precision));
}

void PromptPrefill(benchmark::State& state, const PromptMatmulKernel* prompt, Format format,
                   std::int64_t n, std::int64_t k, std::int64_t rows) {
  const MatmulKernel& kernel = SelectMatmul(format, n, k, Precision::kFast, CpuFeatures::Detect());
  RunPrefill(state, MakeSetup(kernel, format, n, k, rows, false, prompt), rows,
             Bounds().OperationsPerSecond(Arithmetic::kBf16));
}

// Bytes of the checkpoint repacked per second, from memory to memory.
void Repack(benchmark::State& state, const MatmulKernel* kernel, Format format) {
  constexpr std::int64_t kRows = 16384, kK = 2048;
  const QuantizedWeight source = RepeatedRows(format, kRows, kK);
  const AlignedBytes packed = Allocate(kernel->packed_bytes(format, kRows, kK));
  for (auto _ : state) kernel->pack(source.View(), 0, kRows, packed.get(), Pool());
  const Bytes bytes = kRows * FormatRowBytes(format, kK)->Total();
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(bytes) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.counters["read GB/s"] = ReadBandwidth() * 1e-9;
}

struct NamedShape {
  const char* name;
  std::int64_t n, k;
};

template <typename Function, typename Kernel>
void Register(const char* kind, Function function, const Kernel& kernel, const Format& format,
              const NamedShape& shape, std::int64_t rows) {
  const std::string name = std::string(kind) + "/" + std::string(kernel.name) + "/" +
                           format.Name() + "/" + shape.name + "/rows:" + std::to_string(rows);
  benchmark::RegisterBenchmark(name.c_str(), function, &kernel, format, shape.n, shape.k, rows)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void RegisterRows(const MatmulKernel& kernel, const Format& format, const NamedShape& shape) {
  for (const std::int64_t rows : {1, 4, 8}) Register("decode", Decode, kernel, format, shape, rows);
  for (const std::int64_t rows : {64, 512})
    Register("prefill", Prefill, kernel, format, shape, rows);
}
void RegisterRows(const PromptMatmulKernel& kernel, const Format& format, const NamedShape& shape) {
  for (const std::int64_t rows : {16, 64, 512})
    Register("prefill", PromptPrefill, kernel, format, shape, rows);
}

// Every shape and number of rows for what most models are stored in.
template <typename Kernel>
void RegisterCommonFormats(const Kernel& kernel, const CpuFeatures& features) {
  const Format formats[] = {
      Format::Of(FormatKind::kQ4_0), Format::Of(FormatKind::kQ4_K),
      Format::Of(FormatKind::kQ8_0), Format::Affine(4, 64, DType::kBF16),
      Format::Of(FormatKind::kF32),  Format::Of(FormatKind::kBF16),
  };
  const NamedShape shapes[] = {
      {"smol135m_o", 576, 576},   {"smol135m_up", 1536, 576},    {"smol135m_down", 576, 1536},
      {"llama1b_up", 8192, 2048}, {"qwen3_4b_down", 2560, 9728},
  };
  for (const Format& format : formats) {
    if (!kernel.accepts(format, 16, 2048, features)) continue;
    for (const NamedShape& shape : shapes) {
      if (shape.k % format.BlockElements() != 0) continue;
      RegisterRows(kernel, format, shape);
    }
  }
}

const bool registered = [] {
  const CpuFeatures features = CpuFeatures::Detect();
  for (const MatmulKernel& kernel : MatmulKernels()) {
    if (kernel.name != "reference") RegisterCommonFormats(kernel, features);
  }
  for (const PromptMatmulKernel& kernel : PromptMatmulKernels()) {
    if (kernel.name != "prompt_portable") RegisterCommonFormats(kernel, features);
  }
  // Any format, on the kernel that it gets.
  const NamedShape shape = {"1k", 1024, 2048};
  for (const Format& format : AllFormats()) {
    const MatmulKernel& kernel = SelectMatmul(format, 16, 2048, Precision::kFast, features);
    benchmark::RegisterBenchmark(("repack/" + format.Name()).c_str(), Repack, &kernel, format)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
    Register("any decode", Decode, kernel, format, shape, 1);
    Register("any prefill", Prefill, kernel, format, shape, 512);
  }
  return true;
}();

}  // namespace
}  // namespace tonnage
