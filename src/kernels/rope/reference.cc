#include <cmath>

#include "kernels/rope/rope.h"

namespace tonnage {

void FillRopeTable(const RopeTableArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    float* cosines = args.table + row * 2 * args.pairs;
    float* sines = cosines + args.pairs;
    for (std::int64_t i = 0; i < args.pairs; ++i) {
      const double angle =
          static_cast<double>(args.positions[row]) * static_cast<double>(args.inverse_frequency[i]);
      cosines[i] = static_cast<float>(std::cos(angle) * static_cast<double>(args.magnitude));
      sines[i] = static_cast<float>(std::sin(angle) * static_cast<double>(args.magnitude));
    }
  }
}

namespace {

// Rotates one pair of one head; a and b are its places in the head.
void RotatePair(const float* x, float* y, std::int64_t a, std::int64_t b, float c, float s) {
  const float first = x[a];
  const float second = x[b];
  y[a] = first * c - second * s;
  y[b] = second * c + first * s;
}

void Rope(const RopeArgs& args, bool interleaved, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* cosines = args.table + row * 2 * args.pairs;
    const float* sines = cosines + args.pairs;
    for (std::int64_t head = 0; head < args.heads; ++head) {
      const std::int64_t at = (row * args.heads + head) * args.head_dim;
      for (std::int64_t i = 0; i < args.pairs; ++i) {
        const std::int64_t a = interleaved ? 2 * i : i;
        const std::int64_t b = interleaved ? 2 * i + 1 : i + args.pairs;
        RotatePair(args.x + at, args.y + at, a, b, cosines[i], sines[i]);
      }
      for (std::int64_t i = 2 * args.pairs; i < args.head_dim; ++i) args.y[at + i] = args.x[at + i];
    }
  }
}

}  // namespace

namespace reference {

void RopeHalfSplit(const RopeArgs& args, std::int64_t begin, std::int64_t end) {
  Rope(args, false, begin, end);
}

void RopeInterleaved(const RopeArgs& args, std::int64_t begin, std::int64_t end) {
  Rope(args, true, begin, end);
}

}  // namespace reference
}  // namespace tonnage
