#include "tokenizer/charsmap.h"

#include <cstring>

#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// The fields of a unit, as the darts-clone library lays them out.
bool HasLeaf(std::uint32_t unit) { return unit >> 8 & 1; }
std::uint32_t Value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t Label(std::uint32_t unit) { return unit & 0x800000FF; }
std::uint32_t Offset(std::uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

}  // namespace

Result<Charsmap> Charsmap::Parse(std::string_view bytes) {
  if (bytes.empty()) return Charsmap();
  std::uint32_t trie_bytes = 0;
  if (bytes.size() < 4) return Unreadable("precompiled_charsmap: only {} bytes", bytes.size());
  std::memcpy(&trie_bytes, bytes.data(), 4);
  bytes.remove_prefix(4);
  if (trie_bytes > bytes.size() || trie_bytes % 4 != 0) {
    return Unreadable("precompiled_charsmap: a trie of {} bytes, but {} are there", trie_bytes,
                      bytes.size());
  }
  Charsmap map;
  map.units_.resize(trie_bytes / 4);
  if (trie_bytes > 0) std::memcpy(map.units_.data(), bytes.data(), trie_bytes);
  map.texts_ = bytes.substr(trie_bytes);
  if (ValidUtf8Prefix(map.texts_) != map.texts_.size()) {
    return Unreadable("precompiled_charsmap: its texts are not valid UTF-8");
  }
  return map;
}

// Calls visit(length, value) for every key that starts `text`, shortest first, until it returns
// false.
template <typename Visit>
void Charsmap::ForEachKey(std::string_view text, const Visit& visit) const {
  if (units_.empty()) return;
  std::uint32_t node = Offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) return;
    node ^= byte;
    if (node >= units_.size() || Label(units_[node]) != byte) return;
    const std::uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (HasLeaf(unit)) {
      if (node >= units_.size() || !visit(i + 1, Value(units_[node]))) return;
    }
  }
}

std::string_view Charsmap::TextAt(std::uint32_t offset) const {
  // Only the start of a character is a place to begin.
  if (offset >= texts_.size() || (static_cast<unsigned char>(texts_[offset]) & 0xC0) == 0x80)
    return {};
  const std::string_view rest = std::string_view(texts_).substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::optional<std::string_view> Charsmap::Transform(std::string_view text) const {
  std::optional<std::string_view> result;
  ForEachKey(text, [&](std::size_t, std::uint32_t value) {
    result = TextAt(value);
    return false;
  });
  return result;
}

std::optional<std::string_view> Charsmap::TransformLongest(std::string_view text,
                                                           std::size_t& key_bytes) const {
  std::optional<std::string_view> result;
  ForEachKey(text, [&](std::size_t length, std::uint32_t value) {
    result = TextAt(value);
    key_bytes = length;
    return true;
  });
  return result;
}

}  // namespace tonnage
