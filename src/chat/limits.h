// What one rendering may cost. Templates come with models from anywhere, so each is bounded;
// crossing a bound is an error.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tonnage::chat {

struct RenderLimits {
  std::int64_t steps =
      100'000'000;  // nodes evaluated, items visited, and 64-byte blocks of text touched
  Bytes memory_bytes = 256 * kMiB;  // everything that the template makes, garbage included
  Bytes output_bytes = 64 * kMiB;   // the rendered text, and any text being captured
  int depth = 1500;                 // nested evaluations, and so the recursion of macros
};

}  // namespace tonnage::chat
