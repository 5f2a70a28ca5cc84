// Ends a stream of text where the first stop string is complete, however tokens cut it. Holds back
// only what may still become a stop string, so that nothing of one is ever given out; takes time
// linear in the text (Aho and Corasick's automaton). One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tonnage {

inline constexpr std::size_t kMaxStopStrings = 64;
inline constexpr std::size_t kMaxStopStringBytes = 1024;

class StopStrings {
 public:
  StopStrings() : StopStrings(std::span<const std::string>()) {}
  // InvalidArgument for too many, or one that is empty or too long.
  static Result<StopStrings> Make(std::span<const std::string> stops);

  // Takes the next text and appends to `out` what can be given out. True once a stop string is
  // complete: what stood before it has been given out, and the stream is over.
  bool Push(std::string_view text, std::string& out);
  // The text has ended by itself: appends what was held back.
  void Finish(std::string& out);

  bool stopped() const { return stopped_; }

 private:
  explicit StopStrings(std::span<const std::string> stops);

  struct Node {
    std::vector<std::pair<char, std::int32_t>> children = {};
    std::int32_t fallback = 0;  // the longest proper suffix that is a node
    std::uint32_t depth = 0;    // bytes from the root
    std::uint32_t stop = 0;     // bytes of the longest stop string that ends here; 0: none does
  };
  std::int32_t Child(std::int32_t node, char byte) const;  // -1: none
  std::int32_t Follow(std::int32_t node, char byte) const;

  std::vector<Node> nodes_;
  std::int32_t at_ = 0;  // what the end of the text so far has in common with a stop string
  std::string held_;     // at least the last nodes_[at_].depth bytes of the text
  bool stopped_ = false;
};

}  // namespace tonnage
