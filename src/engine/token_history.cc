#include "engine/token_history.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tonnage {

TokenHistory::Sizes TokenHistory::SizesOf(std::size_t prompt_tokens, std::size_t max_tokens,
                                          std::int64_t window) {
  const size_t all = prompt_tokens + max_tokens;
  Sizes sizes{.window = window < 0 ? all : std::min(static_cast<size_t>(window), all)};
  if (sizes.window == 0) return sizes;
  sizes.seen = std::min(prompt_tokens, sizes.window);
  sizes.counts = sizes.seen + max_tokens;
  sizes.table = std::bit_ceil(2 * sizes.counts);
  return sizes;
}

Bytes TokenHistory::BytesOf(std::int64_t prompt_tokens, std::int64_t max_tokens,
                            std::int64_t window) {
  const Sizes sizes =
      SizesOf(static_cast<size_t>(prompt_tokens), static_cast<size_t>(max_tokens), window);
  return static_cast<Bytes>(sizes.window * sizeof(Entry) + sizes.counts * sizeof(Count) +
                            sizes.table * sizeof(std::int32_t));
}

TokenHistory::TokenHistory(std::span<const std::int32_t> prompt, std::int64_t max_tokens,
                           std::int64_t window) {
  const Sizes sizes = SizesOf(prompt.size(), static_cast<size_t>(max_tokens), window);
  window_ = sizes.window;
  ring_.reserve(sizes.window);
  counts_.reserve(sizes.counts);
  table_.resize(sizes.table);
  for (std::int32_t token : prompt.last(sizes.seen)) Push(token, false);
}

TokenHistory::Count& TokenHistory::Find(std::int32_t token) {
  const size_t mask = table_.size() - 1;
  size_t at = (static_cast<std::uint32_t>(token) * 0x9e3779b1u) & mask;
  while (table_[at] != 0) {
    Count& count = counts_[static_cast<size_t>(table_[at] - 1)];
    if (count.token == token) return count;
    at = (at + 1) & mask;
  }
  CHECK_LT(counts_.size(), counts_.capacity()) << "more tokens than were announced";
  counts_.push_back({.token = token});
  table_[at] = static_cast<std::int32_t>(counts_.size());
  return counts_.back();
}

void TokenHistory::Push(std::int32_t token, bool generated) {
  if (window_ == 0) return;
  const Entry entry{token, generated};
  if (ring_.size() < window_) {
    ring_.push_back(entry);
  } else {
    const Entry oldest = ring_[next_];
    Count& count = Find(oldest.token);
    --count.in_window;
    if (oldest.generated) --count.generated;
    ring_[next_] = entry;
    next_ = (next_ + 1) % window_;
  }
  Count& count = Find(token);
  ++count.in_window;
  if (generated) ++count.generated;
}

}  // namespace tonnage
