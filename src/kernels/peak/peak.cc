#include "kernels/peak/peak.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include "kernels/matmul/unroll.h"
#if defined(__x86_64__)
#include "kernels/matmul/intrinsics.h"
#include "kernels/tile_shapes.h"
#endif

// The empty assembly takes a value as if it used it: no load and no round can be left out.
#define TONNAGE_USE(constraint, value) asm volatile("" : : constraint(value))
#define TONNAGE_CHANGE(constraint, value) asm volatile("" : "+" constraint(value))

namespace tonnage {
namespace {

// ---- Loads --------------------------------------------------------------------------------------

// How many places a thread reads from at a time, and whether it asks for lines ahead: which is best
// differs from processor to processor, so all are tried.
constexpr std::int64_t kLines = 4;  // that a round takes of each stream
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kPrefetchBytes = 4096;
constexpr std::int64_t kMaxStreams = 4;

using ReadLoop = void (*)(const std::uint8_t* data, std::int64_t bytes);

void ReadPortable(const std::uint8_t* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at + 64 <= bytes; at += 64) {
    std::uint64_t words[8];
    std::memcpy(words, data + at, sizeof(words));
    TONNAGE_UNROLL for (int i = 0; i < 8; ++i) TONNAGE_USE("r", words[i]);
  }
}
constexpr ReadLoop kReadPortable[] = {ReadPortable};

// ---- Multiply-adds ------------------------------------------------------------------------------

constexpr int kChains = 16;       // enough to hide the latency of any of them
constexpr int kShortChains = 12;  // where 16 registers must hold the factors too

// 16 bytes, which every processor of today has in a register.
typedef float PortableFloats __attribute__((vector_size(16)));
typedef std::uint16_t PortableInts __attribute__((vector_size(16)));

// No chain can be foreseen and none is like another, so that no round can be left out.
template <typename Number, typename Vector>
void RunPortable(std::int64_t rounds) {
  Vector chains[kShortChains];
  const Vector a = Vector{} + Number{3}, b = Vector{} + Number{1};
  TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) chains[i] = a * static_cast<Number>(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) chains[i] = chains[i] * a + b;
  }
  TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) asm volatile("" : : "m"(chains[i]));
}

#if defined(__x86_64__)

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define TARGET_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define TARGET_AVX2 __attribute__((target("avx2,fma")))
#define TARGET_AMX __attribute__((target("amx-tile,amx-int8,amx-bf16")))

// Factors that look like a model's: zeros and ones would take less power, and so run faster.
constexpr std::int64_t kTileBytes = 1024;
using Noise = std::array<std::uint8_t, 2 * kTileBytes>;

constexpr Noise MakeNoise(bool floats) {
  Noise noise{};
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    noise[i] = static_cast<std::uint8_t>(state >> 24);
    // The upper half of a bf16, or of either half of an f32: +-[0.5, 2).
    if (floats && i % 2 == 1) noise[i] = static_cast<std::uint8_t>((noise[i] & 0x80) | 0x3f);
  }
  return noise;
}
alignas(64) constexpr Noise kBytes = MakeNoise(false);
alignas(64) constexpr Noise kFloats = MakeNoise(true);

template <int kStreams, bool kPrefetch>
TARGET_AVX512 void ReadAvx512(const std::uint8_t* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes / kStreams; at += kLines * kLineBytes) {
    TONNAGE_UNROLL for (int i = 0; i < kStreams * kLines; ++i) {
      const std::uint8_t* line = data + i / kLines * (bytes / kStreams) + at + i % kLines * 64;
      if (kPrefetch) __builtin_prefetch(line + kPrefetchBytes);
      const __m512i loaded = _mm512_loadu_si512(line);
      TONNAGE_USE("v", loaded);
    }
  }
}
constexpr ReadLoop kReadAvx512[] = {ReadAvx512<1, false>, ReadAvx512<2, false>,
                                    ReadAvx512<4, false>, ReadAvx512<2, true>};

template <int kStreams, bool kPrefetch>
TARGET_AVX2 void ReadAvx2(const std::uint8_t* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes / kStreams; at += kLines * kLineBytes) {
    TONNAGE_UNROLL for (int i = 0; i < kStreams * kLines; ++i) {
      const std::uint8_t* line = data + i / kLines * (bytes / kStreams) + at + i % kLines * 64;
      if (kPrefetch) __builtin_prefetch(line + kPrefetchBytes);
      const auto* halves = reinterpret_cast<const __m256i*>(line);
      const __m256i first = _mm256_loadu_si256(halves), second = _mm256_loadu_si256(halves + 1);
      TONNAGE_USE("x", first);
      TONNAGE_USE("x", second);
    }
  }
}
constexpr ReadLoop kReadAvx2[] = {ReadAvx2<1, false>, ReadAvx2<2, false>, ReadAvx2<4, false>,
                                  ReadAvx2<2, true>};

TARGET_VNNI void Int8Vnni(std::int64_t rounds) {
  __m512i chains[kChains];
  const __m512i a = _mm512_load_si512(kBytes.data()), b = _mm512_load_si512(kBytes.data() + 64);
  TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) chains[i] = _mm512_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) {
      chains[i] = _mm512_dpbusd_epi32(chains[i], a, b);
      TONNAGE_CHANGE("v", chains[i]);
    }
  }
}

TARGET_AVX512 void F32Avx512(std::int64_t rounds) {
  __m512 chains[kChains];
  const __m512 a = _mm512_load_ps(kFloats.data()), b = _mm512_load_ps(kFloats.data() + 64);
  TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) chains[i] = _mm512_setzero_ps();
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) {
      chains[i] = _mm512_fmadd_ps(a, b, chains[i]);
      TONNAGE_CHANGE("v", chains[i]);
    }
  }
}

TARGET_BF16 void Bf16Avx512(std::int64_t rounds) {
  __m512 chains[kChains];
  const auto a = (__m512bh)_mm512_load_si512(kFloats.data());
  const auto b = (__m512bh)_mm512_load_si512(kFloats.data() + 64);
  TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) chains[i] = _mm512_setzero_ps();
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) {
      chains[i] = _mm512_dpbf16_ps(chains[i], a, b);
      TONNAGE_CHANGE("v", chains[i]);
    }
  }
}

TARGET_AVX2 void Int8Avx2(std::int64_t rounds) {
  __m256i chains[kShortChains];
  const auto* noise = reinterpret_cast<const __m256i*>(kBytes.data());
  __m256i a = _mm256_load_si256(noise);
  const __m256i b = _mm256_load_si256(noise + 1);
  const __m256i ones = _mm256_set1_epi16(1);
  TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) chains[i] = _mm256_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) {
      TONNAGE_CHANGE("x", a);  // or its product would be taken out of the loop
      chains[i] = _mm256_add_epi32(chains[i], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
      TONNAGE_CHANGE("x", chains[i]);
    }
  }
}

TARGET_AVX2 void F32Avx2(std::int64_t rounds) {
  __m256 chains[kShortChains];
  const auto* noise = reinterpret_cast<const float*>(kFloats.data());
  const __m256 a = _mm256_load_ps(noise), b = _mm256_load_ps(noise + 8);
  TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) chains[i] = _mm256_setzero_ps();
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kShortChains; ++i) {
      chains[i] = _mm256_fmadd_ps(a, b, chains[i]);
      TONNAGE_CHANGE("x", chains[i]);
    }
  }
}

constexpr TileShapes kTiles = FullTiles();

// Tiles 0 and 1 add up products of 4 with 6. No more tiles than that: loops over all eight are
// slower where the two threads of a core share its tile registers (matmul/prompt_amx.cc).
TARGET_AMX void BeginTiles(const Noise& noise) {
  _tile_loadconfig(&kTiles);
  _tile_zero(0);
  _tile_zero(1);
  _tile_loadd(4, noise.data(), 64);
  _tile_loadd(6, noise.data() + kTileBytes, 64);
}

TARGET_AMX void Int8Amx(std::int64_t rounds) {
  BeginTiles(kBytes);
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 6);
  }
  _tile_release();
}

TARGET_AMX void Bf16Amx(std::int64_t rounds) {
  BeginTiles(kFloats);
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 6);
  }
  _tile_release();
}

#endif

// ---- The tables ---------------------------------------------------------------------------------

template <bool CpuFeatures::*kFeature>
bool Has(const CpuFeatures& features) {
  return features.*kFeature;
}
bool Always(const CpuFeatures&) { return true; }

constexpr PeakLoop kLoops[] = {
#if defined(__x86_64__)
    {"int8_amx", Arithmetic::kInt8, Has<&CpuFeatures::amx_int8>, 2 * 2.0 * 16 * 16 * 64, Int8Amx},
    {"int8_vnni", Arithmetic::kInt8, Has<&CpuFeatures::avx512_vnni>, kChains * 2.0 * 64, Int8Vnni},
    {"int8_avx2", Arithmetic::kInt8, Has<&CpuFeatures::avx2>, kShortChains * 2.0 * 32, Int8Avx2},
    {"bf16_amx", Arithmetic::kBf16, Has<&CpuFeatures::amx_bf16>, 2 * 2.0 * 16 * 16 * 32, Bf16Amx},
    {"bf16_avx512", Arithmetic::kBf16, Has<&CpuFeatures::avx512_bf16>, kChains * 2.0 * 32,
     Bf16Avx512},
    {"f32_avx512", Arithmetic::kF32, Has<&CpuFeatures::avx512>, kChains * 2.0 * 16, F32Avx512},
    {"f32_avx2", Arithmetic::kF32, Has<&CpuFeatures::avx2>, kShortChains * 2.0 * 8, F32Avx2},
#endif
    {"int8_portable", Arithmetic::kInt8, Always, kShortChains * 2.0 * 8,
     RunPortable<std::uint16_t, PortableInts>},
    {"f32_portable", Arithmetic::kF32, Always, kShortChains * 2.0 * 4,
     RunPortable<float, PortableFloats>},
};

std::span<const ReadLoop> ReadLoops(const CpuFeatures& features) {
#if defined(__x86_64__)
  if (features.avx512) return kReadAvx512;
  if (features.avx2) return kReadAvx2;
#endif
  return kReadPortable;
}

template <typename Work>
double Seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The shortest of several runs.
template <typename Work>
double LeastSeconds(Work&& work) {
  constexpr int kRuns = 6;
  double least = Seconds(work);
  for (int i = 1; i < kRuns; ++i) least = std::min(least, Seconds(work));
  return least;
}

constexpr std::int64_t kTasksAThread = 16;  // so that a thread that starts late costs little

}  // namespace

std::span<const PeakLoop> PeakLoops() { return kLoops; }

double Peaks::OperationsPerSecond(Arithmetic arithmetic) const {
  double best = 0;
  for (const PeakRate& rate : rates) {
    if (rate.arithmetic == arithmetic) best = std::max(best, rate.operations_per_s);
  }
  if (best == 0 && arithmetic != Arithmetic::kF32) return OperationsPerSecond(Arithmetic::kF32);
  return best;
}

void Peaks::TakeBest(const Peaks& other) {
  read_bytes_per_s = std::max(read_bytes_per_s, other.read_bytes_per_s);
  for (size_t i = 0; i < rates.size(); ++i) {
    rates[i].operations_per_s =
        std::max(rates[i].operations_per_s, other.rates[i].operations_per_s);
  }
}

Bytes ColdBytes() {
  constexpr Bytes kCaches = 4, kLeast = 512 * kMiB, kMost = 2 * kGiB;
  Bytes cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  cache = std::max<Bytes>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
  return std::clamp(kCaches * cache, kLeast, kMost);
}

double MeasureRead(std::span<std::uint8_t> memory, const CpuFeatures& features, ThreadPool& pool) {
  // Without huge pages the loads would wait for translations. A refusal only costs speed.
  constexpr std::uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory.data()) + kPage - 1) & ~(kPage - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size());
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);

  const std::int64_t tasks = kTasksAThread * pool.threads();
  constexpr std::int64_t kRound = kMaxStreams * kLines * kLineBytes;
  const std::int64_t slice = static_cast<std::int64_t>(memory.size()) / tasks / kRound * kRound;
  const auto on_slices = [&](auto&& work) {
    pool.Run(tasks, [&](std::int64_t i) { work(memory.data() + i * slice); });
  };
  on_slices([&](std::uint8_t* part) { std::memset(part, 1, static_cast<std::size_t>(slice)); });
  double least = std::numeric_limits<double>::infinity();
  for (const ReadLoop read : ReadLoops(features)) {
    least = std::min(least, LeastSeconds([&] {
                       on_slices([&](const std::uint8_t* part) { read(part, slice); });
                     }));
  }
  return static_cast<double>(tasks * slice) / least;
}

double MeasureOperations(const PeakLoop& loop, ThreadPool& pool) {
  constexpr double kTaskSeconds = 1e-3;
  std::int64_t rounds = 1000;
  while (Seconds([&] { loop.run(rounds); }) < kTaskSeconds) rounds *= 2;
  const std::int64_t tasks = kTasksAThread * pool.threads();
  const double seconds =
      LeastSeconds([&] { pool.Run(tasks, [&](std::int64_t) { loop.run(rounds); }); });
  return loop.operations * static_cast<double>(rounds * tasks) / seconds;
}

Peaks MeasurePeaks(std::span<std::uint8_t> memory, const CpuFeatures& features, ThreadPool& pool) {
  Peaks peaks{.read_bytes_per_s = MeasureRead(memory, features, pool), .rates = {}};
  for (const PeakLoop& loop : kLoops) {
    if (!loop.runs(features)) continue;
    peaks.rates.push_back({loop.name, loop.arithmetic, MeasureOperations(loop, pool)});
  }
  return peaks;
}

}  // namespace tonnage
