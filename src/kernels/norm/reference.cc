#include <cmath>

#include "kernels/norm/norm.h"

namespace tonnage::reference {

void RmsNorm(const RmsNormArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin * args.width; i < end * args.width; i += args.group) {
    double squares = 0.0;
    for (std::int64_t j = 0; j < args.group; ++j) {
      squares += static_cast<double>(args.x[i + j]) * static_cast<double>(args.x[i + j]);
    }
    const double mean = squares / static_cast<double>(args.group);
    const auto scale = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(args.eps)));
    for (std::int64_t j = 0; j < args.group; ++j) {
      args.y[i + j] = args.x[i + j] * scale * (args.weight[j] + args.weight_offset);
    }
  }
}

}  // namespace tonnage::reference
