// GGUF's quantizers, part of PackRow (pack.h): q4_0, q4_1 and q8_0 as llama.cpp's reference rounds
// them, to the bit; q4_k and q6_k search as it does, for the least weighted squared error, with
// sums in another order.
#pragma once

#include <cstdint>
#include <span>

namespace tonnage::internal {

// Rows are whole blocks.
void PackQ4_0(std::span<const float> row, std::uint8_t* block);
void PackQ4_1(std::span<const float> row, std::uint8_t* block);
void PackQ8_0(std::span<const float> row, std::uint8_t* block);
void PackQ4_K(std::span<const float> row, std::uint8_t* block);
void PackQ6_K(std::span<const float> row, std::uint8_t* block);

}  // namespace tonnage::internal
