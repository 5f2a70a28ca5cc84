// SentencePiece's precompiled character map: a double-array trie (darts-clone's layout) from byte
// sequences to their normalized spelling. Blob: u32 size of the trie, the trie's u32 units, then
// NUL-terminated replacements. Owns its bytes; checked whole when made, so that lookups cannot
// leave it. Const and safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

class Charsmap {
 public:
  struct Match {
    std::size_t length = 0;        // bytes of the text that are replaced; 0: nothing matches
    std::string_view replacement;  // borrowed from the map
  };

  Charsmap() = default;  // matches nothing
  static Result<Charsmap> Parse(std::string_view blob);

  bool empty() const { return units_.empty(); }
  // The longest key that `text` begins with.
  Match LongestPrefix(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace tonnage
