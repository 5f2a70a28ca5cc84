// For benches: loops that measure what this processor can do at best, with the widest instructions
// that it has. One thread each.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tonnage {

// Reads every byte once; returns something that depends on all.
std::uint64_t ReadAll(const std::uint8_t* data, Bytes bytes);

// Independent int8 dot products, or f32 multiply-adds, in registers. `operations` gets those of one
// round; multiply and add count as two.
std::int32_t RunInt8Rounds(std::int64_t rounds, double* operations);
float RunF32Rounds(std::int64_t rounds, double* operations);

}  // namespace tonnage
