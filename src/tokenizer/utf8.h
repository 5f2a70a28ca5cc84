// UTF-8 at the level of single characters. Texts inside the tokenizer are always valid UTF-8: what
// comes from outside goes through ReplaceInvalidUtf8 once, and everything after that decodes
// without checks. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tonnage {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// The length in bytes of the character that starts with `lead`.
inline std::size_t CharLength(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character at text[pos], whose length is added to `pos`. The text must be valid and pos inside
// it.
inline char32_t NextChar(std::string_view text, std::size_t& pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[pos + i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    pos += 1;
    return lead;
  }
  if (lead < 0xE0) {
    const char32_t c = (lead & 0x1F) << 6 | (byte(1) & 0x3F);
    pos += 2;
    return c;
  }
  if (lead < 0xF0) {
    const char32_t c = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    pos += 3;
    return c;
  }
  const char32_t c =
      (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  pos += 4;
  return c;
}

inline char32_t CharAt(std::string_view text, std::size_t pos) { return NextChar(text, pos); }

// Where the character before `pos` starts; pos must be above 0.
inline std::size_t PreviousChar(std::string_view text, std::size_t pos) {
  do {
    --pos;
  } while ((static_cast<unsigned char>(text[pos]) & 0xC0) == 0x80);
  return pos;
}

std::size_t CountChars(std::string_view text);

void AppendChar(std::string& out, char32_t c);
std::string CharToString(char32_t c);
std::u32string Decode(std::string_view text);

// How many bytes from the start are valid UTF-8.
std::size_t ValidUtf8Prefix(std::string_view text);

// Every maximal ill-formed part becomes one U+FFFD, as the Unicode standard recommends.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace tonnage
