#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>
#if defined(__x86_64__)
#include "base/check.h"
#include "kernels/matmul/intrinsics.h"
#include "kernels/matmul/tile.h"
#include "kernels/matmul/unroll.h"
#include "quant/minifloat.h"

#define TONNAGE_TARGET __attribute__((target("avx2,fma,f16c")))
#define TONNAGE_MAX_WIDTH 4

namespace tonnage {
namespace {
#include "kernels/matmul/vec_avx2.inc"
//
#include "kernels/matmul/dequantize.inc"
//
#include "kernels/matmul/exact_tile.inc"
//
#include "kernels/matmul/multiply.inc"
}  // namespace

const TileVariant kExactAvx2 = {{1, 4, RowBytesOf, Prepare}, Multiply};

}  // namespace tonnage

#endif
