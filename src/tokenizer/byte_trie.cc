#include "tokenizer/byte_trie.h"

#include <algorithm>

namespace tonnage {

ByteTrie::ByteTrie(std::span<const Entry> entries) {
  std::vector<Entry> sorted(entries.begin(), entries.end());
  std::erase_if(sorted, [](const Entry& entry) { return entry.first.empty(); });
  if (sorted.empty()) return;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Entry& a, const Entry& b) { return a.first < b.first; });

  // Breadth first: `open` holds the range of sorted keys below each node whose children are still
  // to be laid out.
  struct Open {
    std::uint32_t node;
    std::size_t begin, end, depth;
  };
  nodes_.emplace_back();
  std::vector<Open> open = {{0, 0, sorted.size(), 0}};
  for (std::size_t next = 0; next < open.size(); ++next) {
    const Open at = open[next];
    nodes_[at.node].first_child = static_cast<std::uint32_t>(nodes_.size());
    std::size_t begin = at.begin;
    while (begin < at.end && sorted[begin].first.size() == at.depth) {
      nodes_[at.node].value = sorted[begin++].second;
    }
    while (begin < at.end) {
      const auto label = static_cast<std::uint8_t>(sorted[begin].first[at.depth]);
      std::size_t end = begin + 1;
      while (end < at.end && static_cast<std::uint8_t>(sorted[end].first[at.depth]) == label) ++end;
      open.push_back({static_cast<std::uint32_t>(nodes_.size()), begin, end, at.depth + 1});
      nodes_.push_back({.label = label});
      ++nodes_[at.node].children;
      begin = end;
    }
  }
  root_.assign(256, 0);
  for (std::uint32_t i = 0; i < nodes_[0].children; ++i) {
    root_[nodes_[nodes_[0].first_child + i].label] = nodes_[0].first_child + i;
  }
}

}  // namespace tonnage
