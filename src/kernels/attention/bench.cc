// Decode against the bytes of keys and values that it must read, beside the read bandwidth; prefill
// against multiply-adds, beside the arithmetic peak. Both are measured in the same run on the same
// threads (TONNAGE_BENCH_THREADS, by default all). Outputs are checked before anything is timed.
// For prompts:
//   kernels_bench --benchmark_filter='attention prefill/.*/(llama1b|qwen3_4b)/tokens:(4096|32768)'
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/peak/peak.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

// Copies of keys and values that are used in turn, so that they come from memory as they do layer
// after layer. Fewer bytes than for the bound, since each benchmark makes its own.
constexpr Bytes kCopiesBytes = 512 * kMiB;

constexpr std::int64_t kPrefillRows = 512;

ThreadPool& Pool() {
  static ThreadPool pool([] {
    const char* text = std::getenv("TONNAGE_BENCH_THREADS");
    return text != nullptr ? std::atoi(text)
                           : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }());
  return pool;
}

// Memory as the engine's: in huge pages where the system has them.
class HugePages {
 public:
  explicit HugePages(Bytes bytes)
      : bytes_(static_cast<size_t>(RoundUp(bytes, 2 * kMiB))),
        data_(static_cast<std::uint8_t*>(std::aligned_alloc(2 * kMiB, bytes_)), std::free) {
    madvise(data_.get(), bytes_, MADV_HUGEPAGE);
    std::memset(data_.get(), 1, bytes_);
  }
  std::uint8_t* data() const { return data_.get(); }

 private:
  size_t bytes_;
  std::unique_ptr<std::uint8_t, decltype(&std::free)> data_;
};

const Peaks& Bounds() {
  static const Peaks peaks = [] {
    const HugePages memory(ColdBytes());
    return MeasurePeaks({memory.data(), static_cast<size_t>(ColdBytes())}, CpuFeatures::Detect(),
                        Pool());
  }();
  return peaks;
}

struct NamedShape {
  const char* name;
  AttentionShape shape;
};
constexpr NamedShape kShapes[] = {
    {"smol135m", {.heads = 9, .kv_heads = 3, .k_dim = 64, .v_dim = 64, .scale = 0.125f}},
    {"llama1b", {.heads = 32, .kv_heads = 8, .k_dim = 64, .v_dim = 64, .scale = 0.125f}},
    {"qwen3_4b", {.heads = 32, .kv_heads = 8, .k_dim = 128, .v_dim = 128, .scale = 0.088f}},
    {"tinymoe", {.heads = 32, .kv_heads = 4, .k_dim = 128, .v_dim = 128, .scale = 0.088f}},
};

// A step of `rows` that ends a sequence of `tokens`, over as many layers' caches as are cold.
class Work {
 public:
  Work(const AttentionShape& shape, DType dtype, std::int64_t rows, std::int64_t tokens)
      : page_bytes_(AttentionPageBytes(shape, dtype)),
        pages_(CeilDiv(tokens, kAttentionPageTokens)),
        layers_(std::max<std::int64_t>(1, kCopiesBytes / (pages_ * page_bytes_))),
        q_(RandomFloats(std::max(rows, kAttentionPageTokens) * shape.heads * shape.k_dim, 1)),
        k_(RandomFloats(std::max(rows, kAttentionPageTokens) * shape.kv_heads * shape.k_dim, 2)),
        v_(RandomFloats(std::max(rows, kAttentionPageTokens) * shape.kv_heads * shape.v_dim, 3)),
        slots_(static_cast<size_t>(std::max(rows, kAttentionPageTokens)), 0),
        cache_(layers_ * pages_ * page_bytes_) {
    for (std::int64_t page = 0; page < pages_; ++page) {
      table_.push_back(static_cast<std::int32_t>(page));
    }
    args_.shape = shape;
    args_.cache = {.pages = cache_.data(),
                   .dtype = dtype,
                   .pages_per_slot = pages_,
                   .page_table = table_.data()};
    args_.q = q_.data();
    args_.k = k_.data();
    args_.v = v_.data();
    args_.slots = slots_.data();
    FillCaches();
    SetRows(rows, tokens - rows);
  }

  std::int64_t layers() const { return layers_; }
  Bytes cache_bytes() const { return pages_ * page_bytes_; }

  template <typename Kernel>
  AlignedBytes Workspace(const Kernel& kernel) const {
    return AlignedBytes(
        kernel.workspace_bytes(args_.shape, {.rows = args_.rows,
                                             .context_tokens = pages_ * kAttentionPageTokens,
                                             .threads = Pool().threads()}));
  }
  template <typename Kernel>
  void Run(const Kernel& kernel, std::int64_t layer, const AlignedBytes& workspace) {
    args_.cache.pages = cache_.data() + layer * cache_bytes();
    kernel.run(args_, workspace.span(), Pool());
  }

  // Compares the last row that `Run` left with the reference's.
  void Check(float tolerance) {
    const std::int64_t width = args_.shape.heads * args_.shape.v_dim;
    const std::vector<float> last(out_.end() - width, out_.end());
    AttentionArgs one = args_;
    const std::int64_t row = args_.rows - 1;
    one.q += row * args_.shape.heads * args_.shape.k_dim;
    one.k += row * args_.shape.kv_heads * args_.shape.k_dim;
    one.v += row * args_.shape.kv_heads * args_.shape.v_dim;
    one.positions += row;
    one.out = out_.data();
    one.rows = 1;
    reference::Attention(one, {}, Pool());
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<size_t>(i);
      CHECK(std::abs(last[at] - out_[at]) <= tolerance) << last[at] << " instead of " << out_[at];
    }
  }

 private:
  void SetRows(std::int64_t rows, std::int64_t first) {
    args_.rows = args_.max_rows = rows;
    positions_.clear();
    for (std::int64_t row = 0; row < rows; ++row) {
      positions_.push_back(static_cast<std::int32_t>(first + row));
    }
    args_.positions = positions_.data();
    out_.resize(static_cast<size_t>(rows * args_.shape.heads * args_.shape.v_dim));
    args_.out = out_.data();
  }

  // Every page holds the same keys and values.
  void FillCaches() {
    SetRows(kAttentionPageTokens, 0);
    reference::Attention(args_, {}, Pool());
    for (std::int64_t page = 1; page < layers_ * pages_; ++page) {
      std::memcpy(cache_.data() + page * page_bytes_, cache_.data(),
                  static_cast<size_t>(page_bytes_));
    }
  }

  Bytes page_bytes_;
  std::int64_t pages_, layers_;
  std::vector<float> q_, k_, v_, out_;
  std::vector<std::int32_t> slots_, positions_, table_;
  HugePages cache_;
  AttentionArgs args_;
};

// On a sequence that is short enough for the reference, but longer than what kernels split.
template <typename Kernel>
void CheckOutputs(const Kernel& kernel, const AttentionShape& shape, DType dtype, std::int64_t rows,
                  float tolerance) {
  Work work(shape, dtype, rows, 1100);
  work.Run(kernel, 0, work.Workspace(kernel));
  work.Check(tolerance);
}

void Decode(benchmark::State& state, const AttentionKernel* kernel, const AttentionShape* shape,
            DType dtype, std::int64_t tokens) {
  CheckOutputs(*kernel, *shape, dtype, 1, 1e-3f);
  Work work(*shape, dtype, 1, tokens);
  const AlignedBytes workspace = work.Workspace(*kernel);
  std::int64_t layer = 0;
  for (auto _ : state) {
    layer = (layer + 1) % work.layers();
    work.Run(*kernel, layer, workspace);
  }
  const double bytes = static_cast<double>(work.cache_bytes());
  state.counters["KV bytes/s"] =
      benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of read bandwidth"] = benchmark::Counter(
      bytes / Bounds().read_bytes_per_s, benchmark::Counter::kIsIterationInvariantRate);
}

// What the kernel's arithmetic could do at best, in FLOP/s.
double Peak(const AttentionKernel&) { return Bounds().OperationsPerSecond(Arithmetic::kF32); }
double Peak(const PromptAttentionKernel&) {
  return Bounds().OperationsPerSecond(Arithmetic::kBf16);
}

// Runs 512 rows at the end of a sequence.
template <typename Kernel>
void Prefill(benchmark::State& state, const Kernel* kernel, const AttentionShape* shape,
             DType dtype, std::int64_t tokens, float tolerance) {
  CheckOutputs(*kernel, *shape, dtype, kPrefillRows, tolerance);
  Work work(*shape, dtype, kPrefillRows, tokens);
  const AlignedBytes workspace = work.Workspace(*kernel);
  for (auto _ : state) work.Run(*kernel, 0, workspace);
  const double keys = static_cast<double>(kPrefillRows * (2 * tokens - kPrefillRows + 1)) / 2;
  const double operations =
      2 * keys * static_cast<double>(shape->heads * (shape->k_dim + shape->v_dim));
  state.counters["FLOP/s"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of peak"] =
      benchmark::Counter(operations / Peak(*kernel), benchmark::Counter::kIsIterationInvariantRate);
}

std::string Name(const char* kind, std::string_view kernel, const char* dtype, const char* shape,
                 std::int64_t tokens) {
  return std::string(kind) + "/" + std::string(kernel) + "/" + dtype + "/" + shape +
         "/tokens:" + std::to_string(tokens);
}

template <typename Kernel>
void RegisterPrefill(const Kernel& kernel, const NamedShape& shape, DType dtype, const char* word,
                     float tolerance) {
  for (const std::int64_t tokens : {512, 4096, 8192, 32768}) {
    benchmark::RegisterBenchmark(
        Name("attention prefill", kernel.name, word, shape.name, tokens).c_str(), Prefill<Kernel>,
        &kernel, &shape.shape, dtype, tokens, tolerance)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

void RegisterDecode(const AttentionKernel& kernel, const NamedShape& shape, DType dtype,
                    const char* word) {
  for (const std::int64_t tokens : {512, 8192, 32768}) {
    benchmark::RegisterBenchmark(
        Name("attention decode", kernel.name, word, shape.name, tokens).c_str(), Decode, &kernel,
        &shape.shape, dtype, tokens)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

const bool registered = [] {
  constexpr std::pair<DType, const char*> kTypes[] = {{DType::kF16, "f16"}, {DType::kU8, "q8"}};
  const CpuFeatures features = CpuFeatures::Detect();
  for (const auto& [dtype, word] : kTypes) {
    for (const NamedShape& shape : kShapes) {
      for (const AttentionKernel& kernel : AttentionKernels()) {
        if (kernel.level == CpuLevel::kPortable || !Runs(kernel.level, features)) continue;
        RegisterDecode(kernel, shape, dtype, word);
        RegisterPrefill(kernel, shape, dtype, word, 1e-3f);
      }
      for (const PromptAttentionKernel& kernel : PromptAttentionKernels()) {
        if (kernel.needs == nullptr || !Runs(kernel, features)) continue;
        RegisterPrefill(kernel, shape, dtype, word, 2e-2f);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace tonnage
