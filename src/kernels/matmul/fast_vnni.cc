#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>
#if defined(__x86_64__)
#include "base/check.h"
#include "kernels/matmul/intrinsics.h"
#include "kernels/matmul/tile.h"
#include "kernels/matmul/unroll.h"
#include "quant/minifloat.h"

#define TONNAGE_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma,f16c")))
#define TONNAGE_VNNI
#define TONNAGE_MAX_WIDTH 16

namespace tonnage {
namespace {
#include "kernels/matmul/vec_avx512.inc"
//
#include "kernels/matmul/dequantize.inc"
//
#include "kernels/matmul/fast_tile.inc"
//
#include "kernels/matmul/multiply.inc"
}  // namespace

const TileVariant kFastVnni = {{1, 16, RowBytesOf, Prepare}, Multiply};

}  // namespace tonnage

#endif
