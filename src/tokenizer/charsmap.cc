#include "tokenizer/charsmap.h"

#include <cstring>

namespace tonnage {
namespace {

// One unit: bits 0-7 label, bit 8 "a value hangs here", bits 10-30 offset (times 256 with bit 9);
// bit 31 marks a value.
constexpr std::uint32_t kIsValue = 1u << 31;

std::uint32_t Offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
bool HasValue(std::uint32_t unit) { return (unit >> 8) & 1; }

// The longest expansion in Unicode's NFKC is 18 characters; a longer replacement than this would
// let a short text grow without bound.
constexpr std::size_t kMaxReplacementBytes = 1024;

}  // namespace

Result<Charsmap> Charsmap::Parse(std::string_view blob) {
  Charsmap map;
  if (blob.empty()) return map;
  std::uint32_t trie_bytes = 0;
  if (blob.size() < sizeof(trie_bytes)) {
    return Unreadable("precompiled charsmap: {} bytes are too few for its header", blob.size());
  }
  std::memcpy(&trie_bytes, blob.data(), sizeof(trie_bytes));
  blob.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % sizeof(std::uint32_t) != 0 || trie_bytes > blob.size()) {
    return Unreadable("precompiled charsmap: a trie of {} bytes in {} bytes", trie_bytes,
                      blob.size());
  }
  map.units_.resize(trie_bytes / sizeof(std::uint32_t));
  std::memcpy(map.units_.data(), blob.data(), trie_bytes);
  map.replacements_ = blob.substr(trie_bytes);
  for (std::size_t i = 0; i < map.units_.size(); ++i) {
    if ((map.units_[i] & kIsValue) == 0) continue;
    const std::size_t at = map.units_[i] & ~kIsValue;
    const std::size_t end = map.replacements_.find('\0', at);
    if (end == std::string::npos || end - at > kMaxReplacementBytes) {
      return Unreadable(
          "precompiled charsmap: unit {} points at byte {} of {} replacement bytes, {}", i, at,
          map.replacements_.size(),
          end == std::string::npos ? "where no text ends" : "a text too long");
    }
  }
  return map;
}

Charsmap::Match Charsmap::LongestPrefix(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  std::size_t node = Offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto label = static_cast<std::uint8_t>(text[i]);
    node ^= label;
    if (label == 0 || node >= units_.size()) break;
    const std::uint32_t unit = units_[node];
    if ((unit & (kIsValue | 0xff)) != label) break;
    node ^= Offset(unit);
    if (node >= units_.size()) break;
    if (HasValue(unit)) {
      const std::uint32_t value = units_[node];
      if ((value & kIsValue) == 0) break;
      match = {i + 1, std::string_view(replacements_.data() + (value & ~kIsValue))};
    }
  }
  return match;
}

}  // namespace tonnage
