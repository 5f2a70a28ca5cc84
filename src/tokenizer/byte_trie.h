// A read-only trie over byte strings with an int value each: the children of a node lie side by
// side, sorted by label. Made once from the keys, which it does not keep. Const and safe from any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tonnage {

class ByteTrie {
 public:
  using Entry = std::pair<std::string_view, std::int32_t>;

  ByteTrie() = default;
  // Empty keys are left out; of equal keys the last one counts.
  explicit ByteTrie(std::span<const Entry> entries);

  bool empty() const { return nodes_.empty(); }

  // Calls visit(length_bytes, value) for every key that `text` begins with, shortest first.
  template <typename Visit>
  void ForEachPrefix(std::string_view text, Visit visit) const {
    if (empty()) return;
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = Child(node, static_cast<std::uint8_t>(text[i]));
      if (node == 0) return;
      if (nodes_[node].value >= 0) visit(i + 1, nodes_[node].value);
    }
  }

  // The length of the longest key that `text` begins with, 0 when there is none.
  std::size_t LongestPrefix(std::string_view text) const {
    std::size_t longest = 0;
    ForEachPrefix(text, [&](std::size_t length, std::int32_t) { longest = length; });
    return longest;
  }

 private:
  struct Node {
    std::int32_t value = -1;        // of the key that ends here, or -1
    std::uint32_t first_child = 0;  // the root is nobody's child, so 0 means none
    std::uint16_t children = 0;
    std::uint8_t label = 0;
  };

  std::uint32_t Child(std::uint32_t node, std::uint8_t label) const {
    if (node == 0) return root_[label];
    const Node& parent = nodes_[node];
    std::uint32_t low = parent.first_child, high = low + parent.children;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (nodes_[middle].label < label) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const bool found = low < parent.first_child + parent.children && nodes_[low].label == label;
    return found ? low : 0;
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> root_;  // [256], the root's children by label
};

}  // namespace tonnage
