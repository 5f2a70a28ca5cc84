#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>

namespace tonnage {
namespace {

#if defined(__x86_64__)
// Linux hands out the tile registers' state only to a process that asks for it.
bool GrantTileState() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtileData) == 0;
}
#endif

}  // namespace

CpuFeatures CpuFeatures::Detect() {
  CpuFeatures features;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  // clang 14 knows no name for F16C.
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1u << 29)) != 0;
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c;
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
  features.avx512_vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  if (features.avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    features.avx512_bf16 = (a & (1u << 5)) != 0;
  }
  if (features.avx512_vnni && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
      (d & (1u << 24)) != 0 && GrantTileState()) {
    features.amx_int8 = (d & (1u << 25)) != 0;
    features.amx_bf16 = (d & (1u << 22)) != 0;
  }
#endif
  return features;
}

Result<CpuFeatures> CpuFeatures::LoweredTo(std::string_view level) const {
  static constexpr std::string_view kLevels[] = {"portable", "avx2", "avx512", "vnni", "amx"};
  int rank = 0;
  while (rank < 5 && kLevels[rank] != level) ++rank;
  if (rank == 5) {
    return InvalidArgument("no processor level `{}`: use portable, avx2, avx512, vnni or amx",
                           level);
  }
  CpuFeatures lowered = *this;
  if (rank < 1) lowered.avx2 = false;
  if (rank < 2) lowered.avx512 = false;
  if (rank < 3) lowered.avx512_vnni = lowered.avx512_bf16 = false;
  if (rank < 4) lowered.amx_int8 = lowered.amx_bf16 = false;
  return lowered;
}

std::string CpuFeatures::ToString() const {
  std::string text;
  const auto add = [&](bool present, const char* name) {
    if (present) text += (text.empty() ? "" : " ") + std::string(name);
  };
  add(avx2, "avx2");
  add(avx512, "avx512");
  add(avx512_vnni, "avx512_vnni");
  add(avx512_bf16, "avx512_bf16");
  add(amx_int8, "amx_int8");
  add(amx_bf16, "amx_bf16");
  return text.empty() ? "portable" : text;
}

}  // namespace tonnage
