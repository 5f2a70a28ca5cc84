#include "base/cpu_features.h"
#include "kernels/matmul/peak.h"
#include "kernels/matmul/unroll.h"
#if defined(__x86_64__)
#include "kernels/matmul/intrinsics.h"
#endif

namespace tonnage {
namespace {

constexpr int kChains = 16;  // enough to hide the latency of any of them

#if defined(__x86_64__)

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define TARGET_AVX2 __attribute__((target("avx2,fma")))

TARGET_AVX512 std::uint64_t ReadAvx512(const std::uint8_t* data, Bytes bytes) {
  __m512i sums[4] = {};
  for (Bytes at = 0; at + 256 <= bytes; at += 256) {
    TONNAGE_UNROLL for (int i = 0; i < 4; ++i) {
      sums[i] = _mm512_add_epi64(sums[i], _mm512_loadu_si512(data + at + 64 * i));
    }
  }
  return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(
      _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]), _mm512_add_epi64(sums[2], sums[3]))));
}

// The empty assembly keeps the compiler from merging rounds.
TARGET_AVX512 std::int32_t Int8Vnni(std::int64_t rounds) {
  __m512i chains[kChains];
  const __m512i one = _mm512_set1_epi8(1);
  TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) chains[i] = _mm512_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) {
      chains[i] = _mm512_dpbusd_epi32(chains[i], one, one);
      asm volatile("" : "+v"(chains[i]));
    }
  }
  __m512i sum = chains[0];
  TONNAGE_UNROLL for (int i = 1; i < kChains; ++i) sum = _mm512_xor_si512(sum, chains[i]);
  return _mm_cvtsi128_si32(_mm512_castsi512_si128(sum));
}

TARGET_AVX512 float F32Avx512(std::int64_t rounds) {
  __m512 chains[kChains];
  const __m512 one = _mm512_set1_ps(1.0f);
  TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) {
    chains[i] = _mm512_set1_ps(static_cast<float>(i));
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains; ++i) {
      chains[i] = _mm512_fmadd_ps(one, one, chains[i]);
      asm volatile("" : "+v"(chains[i]));
    }
  }
  __m512 sum = chains[0];
  TONNAGE_UNROLL for (int i = 1; i < kChains; ++i) sum = _mm512_add_ps(sum, chains[i]);
  return _mm512_cvtss_f32(sum);
}

TARGET_AVX2 std::int32_t Int8Avx2(std::int64_t rounds) {
  __m256i chains[kChains / 2];
  const __m256i one = _mm256_set1_epi8(1), wide_one = _mm256_set1_epi16(1);
  TONNAGE_UNROLL for (int i = 0; i < kChains / 2; ++i) chains[i] = _mm256_set1_epi32(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains / 2; ++i) {
      __m256i pairs = _mm256_maddubs_epi16(one, one);
      asm volatile("" : "+x"(pairs));
      chains[i] = _mm256_add_epi32(chains[i], _mm256_madd_epi16(pairs, wide_one));
    }
  }
  __m256i sum = chains[0];
  TONNAGE_UNROLL for (int i = 1; i < kChains / 2; ++i) sum = _mm256_xor_si256(sum, chains[i]);
  return _mm_cvtsi128_si32(_mm256_castsi256_si128(sum));
}

TARGET_AVX2 float F32Avx2(std::int64_t rounds) {
  __m256 chains[kChains / 2];
  const __m256 one = _mm256_set1_ps(1.0f);
  TONNAGE_UNROLL for (int i = 0; i < kChains / 2; ++i) {
    chains[i] = _mm256_set1_ps(static_cast<float>(i));
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    TONNAGE_UNROLL for (int i = 0; i < kChains / 2; ++i) {
      chains[i] = _mm256_fmadd_ps(one, one, chains[i]);
      asm volatile("" : "+x"(chains[i]));
    }
  }
  __m256 sum = chains[0];
  TONNAGE_UNROLL for (int i = 1; i < kChains / 2; ++i) sum = _mm256_add_ps(sum, chains[i]);
  return _mm256_cvtss_f32(sum);
}

const CpuFeatures& Features() {
  static const CpuFeatures features = CpuFeatures::Detect();
  return features;
}

#endif

// Without vectors to name, the compiler's own: a lower bound of the peak.
template <typename T>
T PlainRounds(std::int64_t rounds) {
  T chains[kChains] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) chains[i] = static_cast<T>(chains[i] * T{3} + T{1});
    asm volatile("" : : "r"(chains) : "memory");
  }
  return chains[0];
}

}  // namespace

std::uint64_t ReadAll(const std::uint8_t* data, Bytes bytes) {
#if defined(__x86_64__)
  if (Features().avx512_vnni) return ReadAvx512(data, bytes);
#endif
  std::uint64_t sum = 0;
  for (Bytes i = 0; i < bytes; ++i) sum += data[i];
  return sum;
}

std::int32_t RunInt8Rounds(std::int64_t rounds, double* operations) {
#if defined(__x86_64__)
  *operations = 2.0 * 64 * kChains;
  if (Features().avx512_vnni) return Int8Vnni(rounds);
  *operations = 2.0 * 32 * (kChains / 2);
  if (Features().avx2) return Int8Avx2(rounds);
#endif
  *operations = 2.0 * kChains;
  return static_cast<std::int32_t>(PlainRounds<std::uint32_t>(rounds));
}

float RunF32Rounds(std::int64_t rounds, double* operations) {
#if defined(__x86_64__)
  *operations = 2.0 * 16 * kChains;
  if (Features().avx512_vnni) return F32Avx512(rounds);
  *operations = 2.0 * 8 * (kChains / 2);
  if (Features().avx2) return F32Avx2(rounds);
#endif
  *operations = 2.0 * kChains;
  return PlainRounds<float>(rounds);
}

}  // namespace tonnage
