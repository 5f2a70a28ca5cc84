// How a cache of 8-bit integers lies in memory and how it rounds; DType::kU8 stands for it. A key
// or value head of one token is codes times one scale:
//   scale = max |x| / 127, rounded up to bf16;  code = round(x / scale), in [-127, 127]
// A page is a block for each kv head: codes of keys [k_dim / 2, rounded up][page tokens][2], scales
// of keys and of values [2][page tokens] bf16, codes of values [page tokens / 2][v_dim][2]. Two
// dimensions of a key and two tokens of a value stand together, for products that add pairs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tonnage {

// Offsets into a block of one kv head, in bytes.
struct Q8Block {
  constexpr Q8Block(std::int64_t k_dim, std::int64_t v_dim, std::int64_t tokens)
      : key_pairs((k_dim + 1) / 2),
        key_scales(2 * key_pairs * tokens),
        value_scales(key_scales + 2 * tokens),
        values(value_scales + 2 * tokens),
        bytes(values + tokens * v_dim) {}

  std::int64_t key_pairs, key_scales, value_scales, values, bytes;
};

// The scale of numbers of which `largest` is the largest magnitude: a bf16 number. Not so small
// that its inverse overflows.
inline float Q8Scale(float largest) {
  const auto bits = std::bit_cast<std::uint32_t>(std::max(largest / 127.0f, 0x1p-126f));
  return std::bit_cast<float>((bits + 0xffffu) & 0xffff0000u);
}

}  // namespace tonnage
