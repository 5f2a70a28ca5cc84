// Extended grapheme clusters (UAX 29): what a reader takes for one character. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace tonnage {

// The end of the cluster that starts at `pos` of a valid UTF-8 text, pos inside it.
std::size_t GraphemeEnd(std::string_view text, std::size_t pos);

}  // namespace tonnage
