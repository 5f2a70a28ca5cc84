#include "tokenizer/utf8.h"

#include <cstdint>
#include <cstring>

namespace tonnage {
namespace {

// The length of the well-formed character at text[pos], or 0. `bad` is then the length of the
// maximal ill-formed part: the bytes that some well-formed character starts with, and at least one.
std::size_t WellFormed(std::string_view text, std::size_t pos, std::size_t& bad) {
  const auto byte = [&](std::size_t i) {
    return pos + i < text.size() ? static_cast<unsigned char>(text[pos + i]) : 0;
  };
  const unsigned char lead = byte(0);
  bad = 1;
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;  // what the second byte may be
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (byte(1) < low || byte(1) > high) return 0;
  for (bad = 2; bad < length; ++bad) {
    if ((byte(bad) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::size_t CountChars(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

void AppendChar(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      out += static_cast<char>(0xE0 | c >> 12);
    } else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    }
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
  }
  out += static_cast<char>(0x80 | (c & 0x3F));
}

std::string CharToString(char32_t c) {
  std::string out;
  AppendChar(out, c);
  return out;
}

std::u32string Decode(std::string_view text) {
  std::u32string out;
  for (std::size_t pos = 0; pos < text.size();) out += NextChar(text, pos);
  return out;
}

std::size_t ValidUtf8Prefix(std::string_view text) {
  std::size_t pos = 0;
  std::size_t bad = 0;
  while (pos < text.size()) {
    std::uint64_t eight = 0;
    if (pos + 8 <= text.size()) {
      std::memcpy(&eight, text.data() + pos, 8);
      if ((eight & 0x8080808080808080u) == 0) {
        pos += 8;
        continue;
      }
    }
    const std::size_t length = WellFormed(text, pos, bad);
    if (length == 0) return pos;
    pos += length;
  }
  return pos;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t good = ValidUtf8Prefix(text);
    out.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty()) return out;
    std::size_t bad = 0;
    WellFormed(text, 0, bad);
    text.remove_prefix(bad);
    AppendChar(out, kReplacementCharacter);
  }
}

}  // namespace tonnage
