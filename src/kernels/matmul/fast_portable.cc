#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/matmul/tile.h"
#include "kernels/matmul/unroll.h"
#include "quant/minifloat.h"

#define TONNAGE_TARGET
#define TONNAGE_MAX_WIDTH 4

namespace tonnage {
namespace {
#include "kernels/matmul/vec_portable.inc"
//
#include "kernels/matmul/dequantize.inc"
//
#include "kernels/matmul/fast_tile.inc"
//
#include "kernels/matmul/multiply.inc"
}  // namespace

const TileVariant kFastPortable = {{1, 4, RowBytesOf, Prepare}, Multiply};

}  // namespace tonnage
