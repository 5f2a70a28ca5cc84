// Hashing for the tokenizer's flat tables. Not for secrets; good enough that no ordinary text or
// vocabulary clusters.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tonnage {

inline std::uint64_t MixBits(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  x ^= x >> 29;
  x *= 0xFF51AFD7ED558CCDu;
  return x ^ x >> 32;
}

inline std::uint64_t HashBytes(std::string_view bytes) {
  const auto load = [](const char* from, std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, count);
    return value;
  };
  const char* p = bytes.data();
  const std::size_t n = bytes.size();
  if (n < 8) {
    if (n >= 4) return MixBits((load(p, 4) << 32 | load(p + n - 4, 4)) * 0x9E3779B97F4A7C15u + n);
    if (n == 0) return 0;
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i]));
    };
    return MixBits(byte(0) << 40 | byte(n / 2) << 24 | byte(n - 1) << 8 | n);
  }
  std::uint64_t h = n * 0x9E3779B97F4A7C15u;
  for (std::size_t i = 0; i + 8 < n; i += 8) {
    h = (h ^ load(p + i, 8)) * 0xA0761D6478BD642Fu;
    h ^= h >> 31;
  }
  return MixBits(h ^ load(p + n - 8, 8) * 0xE7037ED1A0B428DBu);
}

// The smallest power of two that keeps a table of `count` entries at most half full.
inline std::size_t TableSize(std::size_t count) {
  std::size_t size = 16;
  while (size < 2 * count) size *= 2;
  return size;
}

}  // namespace tonnage
