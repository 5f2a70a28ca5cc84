#include <cmath>
#include <cstring>

#include "kernels/elementwise/elementwise.h"

namespace tonnage {

void SelectRows(const SelectRowsArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    std::memcpy(args.y + row * args.width, args.x + args.index[row] * args.width,
                static_cast<size_t>(args.width) * sizeof(float));
  }
}

namespace reference {

void Add(const AddArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin * args.width; i < end * args.width; ++i) {
    args.y[i] = args.a[i] + args.b[i];
  }
}

void SiluGlu(const GluArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin * args.width; i < end * args.width; ++i) {
    const double z = static_cast<double>(args.gate[i]);
    args.y[i] = static_cast<float>(z / (1.0 + std::exp(-z)) * static_cast<double>(args.up[i]));
  }
}

void GeluTanhGlu(const GluArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  for (std::int64_t i = begin * args.width; i < end * args.width; ++i) {
    const double z = static_cast<double>(args.gate[i]);
    const double t = std::tanh(kSqrt2OverPi * (z + 0.044715 * z * z * z));
    args.y[i] = static_cast<float>(0.5 * z * (1.0 + t) * static_cast<double>(args.up[i]));
  }
}

}  // namespace reference
}  // namespace tonnage
