#include "checkpoint/quoted.h"

#include <fmt/format.h>

namespace tonnage {
namespace {

constexpr size_t kLongestShown = 160;

// The length of the well-formed UTF-8 sequence that `text` begins with, or 0. Overlong forms and
// surrogates are not told apart: they print as nothing worse than a replacement sign.
size_t SequenceLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80         ? 1
                        : (lead >> 5) == 6  ? 2
                        : (lead >> 4) == 14 ? 3
                        : (lead >> 3) == 30 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) >> 6) != 2) return 0;
  }
  return length;
}

// C0, DEL, and C1 (U+0080 to U+009F), which terminals obey.
bool IsControl(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead < 0x20 || lead == 0x7f;
  return lead == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

}  // namespace

std::string Quoted(std::string_view name) {
  std::string text = "`";
  while (!name.empty() && text.size() < kLongestShown) {
    const size_t length = SequenceLength(name);
    if (length > 0 && !IsControl(name.substr(0, length))) {
      text += name.substr(0, length);
      name.remove_prefix(length);
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[0]));
      name.remove_prefix(1);
    }
  }
  return text + (name.empty() ? "`" : "...`");
}

}  // namespace tonnage
