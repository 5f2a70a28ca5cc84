// What an AMX processor loads as a thread's shapes of its eight tiles. An object of static storage
// only: gcc 12 takes the loading instruction to read 8 bytes, and leaves out the stores to the rest
// of a local one.
#pragma once

#include <cstdint>

namespace tonnage {

struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  constexpr void Set(int tile, int tile_rows, int bytes) {
    rows[tile] = static_cast<std::uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

// Every tile 16 rows of 64 bytes.
constexpr TileShapes FullTiles() {
  TileShapes shapes;
  for (int tile = 0; tile < 8; ++tile) shapes.Set(tile, 16, 64);
  return shapes;
}

}  // namespace tonnage
