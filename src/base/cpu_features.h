// What this processor can do, asked once by the composition root and passed down, so that tests and
// users can lower it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tonnage {

struct CpuFeatures {
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, DQ, VL, CD
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_int8 = false;  // the system granted the tile state
  bool amx_bf16 = false;

  // Asks the processor and the system.
  static CpuFeatures Detect();
  // Lowers to a level: "portable", "avx2", "avx512", "vnni", "amx"; InvalidArgument for another
  // word.
  Result<CpuFeatures> LoweredTo(std::string_view level) const;
  // "avx2 avx512 avx512_vnni".
  std::string ToString() const;
};

}  // namespace tonnage
