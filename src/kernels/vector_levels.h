// Highway compiles a vector file once for each level of kernels/variant.h and no other. Included
// first by every such file, which then makes its table rows of TONNAGE_VECTOR_ROWS. The portable
// row is whatever the compiler's own flags allow.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/detect_targets.h"

// TONNAGE_VECTOR_ROWS(ROW) expands ROW(name, level, namespace) for each level, best first.
#if HWY_TARGETS & HWY_AVX3
#define TONNAGE_AVX512_ROW(ROW) ROW("avx512", CpuLevel::kAvx512, N_AVX3)
#else
#define TONNAGE_AVX512_ROW(ROW)
#endif
#if (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2
#define TONNAGE_AVX2_ROW(ROW) ROW("avx2", CpuLevel::kAvx2, N_AVX2)
#else
#define TONNAGE_AVX2_ROW(ROW)
#endif
#define TONNAGE_VECTOR_ROWS(ROW) \
  TONNAGE_AVX512_ROW(ROW)        \
  TONNAGE_AVX2_ROW(ROW)          \
  ROW("portable", CpuLevel::kPortable, HWY_STATIC_NAMESPACE)

#if HWY_STATIC_TARGET == HWY_EMU128
#define HWY_STATIC_NAMESPACE N_EMU128
#elif HWY_STATIC_TARGET == HWY_SCALAR
#define HWY_STATIC_NAMESPACE N_SCALAR
#elif HWY_STATIC_TARGET == HWY_NEON
#define HWY_STATIC_NAMESPACE N_NEON
#elif HWY_STATIC_TARGET == HWY_AVX2
#define HWY_STATIC_NAMESPACE N_AVX2
#elif HWY_STATIC_TARGET == HWY_AVX3
#define HWY_STATIC_NAMESPACE N_AVX3
#else
#error "Name the namespace of this processor's baseline here"
#endif
