// Python's textwrap.wrap, as the wordwrap filter calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tonnage::chat {

struct WrapOptions {
  std::int64_t width = 79;  // at least 1
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

// Gives the lines that one paragraph wraps into, until `emit` returns false.
void WrapParagraph(std::string_view text, const WrapOptions& options,
                   const std::function<bool(std::string)>& emit);

}  // namespace tonnage::chat
