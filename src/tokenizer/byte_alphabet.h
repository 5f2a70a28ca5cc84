// The byte-level alphabet: GPT-2's way to write any byte as a visible character. Printable Latin-1
// stands for itself; the other bytes are numbered from U+0100 on. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tonnage {

char32_t ByteToChar(unsigned char byte);
std::optional<unsigned char> CharToByte(char32_t c);

// Every byte of `bytes` as a character.
std::string ToByteAlphabet(std::string_view bytes);
// The bytes that `text` (UTF-8) stands for, or nothing where a character is not of the alphabet.
std::optional<std::string> FromByteAlphabet(std::string_view text);

}  // namespace tonnage
