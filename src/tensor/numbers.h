// Single numbers as they lie in bytes, aligned or not, read and written as float32. For F32, F16
// and BF16, which IsFloat tells; another type is a programming error.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tensor/dtype.h"

namespace tonnage {

constexpr bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

inline float LoadNumber(DType dtype, const std::uint8_t* from) {
  CHECK(IsFloat(dtype)) << DTypeName(dtype) << " holds no floats";
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return dtype == DType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
}

// Rounds to the nearest, halves to even.
inline void StoreNumber(DType dtype, float value, std::uint8_t* to) {
  CHECK(IsFloat(dtype)) << DTypeName(dtype) << " holds no floats";
  if (dtype == DType::kF32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == DType::kF16 ? F32ToF16(value) : F32ToBf16(value);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace tonnage
