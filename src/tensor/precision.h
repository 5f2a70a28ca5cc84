// How closely a device follows float32 arithmetic; a user's choice with a number behind it
// (docs/precision.md).
#pragma once

namespace tonnage {

enum class Precision {
  kExact,  // activations stay float32; weights are dequantized without loss
  kFast,   // matmul activations may be rounded to 8-bit integers in small groups
};

}  // namespace tonnage
