// How often each token stands in the window that penalties look at, kept up to date token by token.
// Everything is sized when it is made; Append never allocates. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace tonnage {

class TokenHistory {
 public:
  struct Count {
    std::int32_t token = 0;
    std::int32_t in_window = 0;  // prompt and answer
    std::int32_t generated = 0;  // of those, in the answer
  };

  TokenHistory() = default;
  // Of the last `window` tokens (-1: all) of `prompt` and at most `max_tokens` more.
  TokenHistory(std::span<const std::int32_t> prompt, std::int64_t max_tokens, std::int64_t window);

  // What such a history takes on the heap.
  static Bytes BytesOf(std::int64_t prompt_tokens, std::int64_t max_tokens, std::int64_t window);

  void Append(std::int32_t token) { Push(token, true); }
  // One entry a token that was ever in the window, so that some counts are 0.
  std::span<const Count> counts() const { return counts_; }

 private:
  struct Sizes {
    std::size_t window = 0;
    std::size_t seen = 0;    // of the prompt's last tokens
    std::size_t counts = 0;  // the most distinct tokens
    std::size_t table = 0;
  };
  static Sizes SizesOf(std::size_t prompt_tokens, std::size_t max_tokens, std::int64_t window);
  void Push(std::int32_t token, bool generated);
  Count& Find(std::int32_t token);

  struct Entry {
    std::int32_t token = 0;
    bool generated = false;
  };
  std::vector<Entry> ring_;  // the window; ring_[next_] is the oldest once it is full
  std::size_t window_ = 0;
  std::size_t next_ = 0;
  std::vector<Count> counts_;
  std::vector<std::int32_t> table_;  // open addressing: 1 + index into counts_, or 0
};

}  // namespace tonnage
