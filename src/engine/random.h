// A request's own random numbers: xoshiro256++ seeded through splitmix64. The same seed gives the
// same numbers on every machine and with every compiler, which the standard library's distributions
// do not promise. One thread at a time.
#pragma once

#include <bit>
#include <cstdint>

namespace tonnage {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t Next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1), in steps of 2^-53.
  double NextUnit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_[4];
};

}  // namespace tonnage
