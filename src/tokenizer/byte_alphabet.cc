#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

constexpr bool StandsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> kChars = [] {
  std::array<char32_t, 256> chars{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) chars[byte] = StandsForItself(byte) ? byte : next++;
  return chars;
}();

// The byte of each character below U+0144, or -1.
constexpr std::array<int, 0x144> kBytes = [] {
  std::array<int, 0x144> bytes{};
  for (int& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kChars[byte]] = static_cast<int>(byte);
  return bytes;
}();

}  // namespace

char32_t ByteToChar(unsigned char byte) { return kChars[byte]; }

std::optional<unsigned char> CharToByte(char32_t c) {
  if (c >= kBytes.size() || kBytes[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(kBytes[c]);
}

std::string ToByteAlphabet(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char byte : bytes) AppendChar(out, kChars[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> FromByteAlphabet(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();) {
    const std::optional<unsigned char> byte = CharToByte(NextChar(text, pos));
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
  }
  return out;
}

}  // namespace tonnage
