// SentencePiece's compiled normalization rules: a double-array trie over UTF-8 and the texts that
// its keys become. Immutable after Parse; any thread may use it. Every index is checked, since the
// bytes come from a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

class Charsmap {
 public:
  // Size of the trie (4 bytes, little endian), the trie's units (4 bytes each), then texts that end
  // in a zero byte.
  static Result<Charsmap> Parse(std::string_view bytes);

  // What the shortest key that starts `text` becomes, or nothing where no key does.
  std::optional<std::string_view> Transform(std::string_view text) const;
  // The same for the longest key, whose length goes to `key_bytes`.
  std::optional<std::string_view> TransformLongest(std::string_view text,
                                                   std::size_t& key_bytes) const;

 private:
  template <typename Visit>
  void ForEachKey(std::string_view text, const Visit& visit) const;
  std::string_view TextAt(std::uint32_t offset) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace tonnage
