#include "kernels/embed/embed.h"

namespace tonnage {

void Embed(const EmbedArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.table->k;
  for (std::int64_t row = begin; row < end; ++row) {
    float* y = args.y + row * width;
    args.table->kernel->unpack_row(*args.table, args.tokens[row], y);
    if (args.scale == 1.0f) continue;
    for (std::int64_t i = 0; i < width; ++i) y[i] *= args.scale;
  }
}

}  // namespace tonnage
