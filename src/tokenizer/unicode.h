// What the reference tokenizer takes a character to be. It mixes Unicode versions: its regular
// expressions, the Rust standard library and older crates each bring their own, so every class here
// says whose it is. The tables come from asking the reference itself (scripts/unicode_tables.py).
// Read-only after the first use; any thread may ask.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tonnage {

// Bits of a character's class, in the order of scripts/unicode_tables.py.
enum CharBits : std::uint32_t {
  kLu = 1u << 0,  // general categories as the regular expressions see them
  kLl = 1u << 1,
  kLt = 1u << 2,
  kLm = 1u << 3,
  kLo = 1u << 4,
  kMn = 1u << 5,
  kMc = 1u << 6,
  kMe = 1u << 7,
  kNd = 1u << 8,
  kNl = 1u << 9,
  kNo = 1u << 10,
  kPunctuation = 1u << 11,
  kSymbol = 1u << 12,
  kSpace = 1u << 13,            // \s of a regular expression
  kRegexWord = 1u << 14,        // \w of a regular expression
  kRustNumeric = 1u << 15,      // char::is_numeric: the Digits pre-tokenizer
  kRustSpace = 1u << 16,        // char::is_whitespace
  kRustWord = 1u << 17,         // \w of the Whitespace pre-tokenizer and of single_word
  kBertPunctuation = 1u << 18,  // the Punctuation and BertPreTokenizer pre-tokenizers
  kBertControl = 1u << 19,      // what BertNormalizer's clean_text removes
  kNonspacingMark = 1u << 20,   // what BertNormalizer's strip_accents removes
  kCombiningMark = 1u << 21,    // what StripAccents removes
  kRecent = 1u << 22,           // assigned after Unicode 14: PCRE2 may not know it yet
  kAlphabetic = 1u << 23,       // POSIX classes of a regular expression
  kUpper = 1u << 24,
  kLower = 1u << 25,
  kAssigned = 1u << 26,

  kLetter = kLu | kLl | kLt | kLm | kLo,
  kMark = kMn | kMc | kMe,
  kNumber = kNd | kNl | kNo,
};

// Character -> bits, in two stages so that the pages in use stay in the cache.
class CharClasses {
 public:
  static const CharClasses& Get();
  std::uint32_t operator[](char32_t c) const {
    return c < 0x80 ? ascii_[c] : pages_[index_[c >> 8]][c & 0xFF];
  }

 private:
  using Page = std::array<std::uint32_t, 256>;
  CharClasses();
  std::uint32_t ascii_[0x80];
  std::uint16_t index_[0x1100];
  std::vector<Page> pages_;
};

inline bool IsRustSpace(char32_t c) { return CharClasses::Get()[c] & kRustSpace; }

// Characters that PCRE2 may not know, with the category and the script that regular expressions
// give them.
struct RecentRun {
  char32_t first, last;
  const char* category;
  const char* script;
};
std::span<const RecentRun> RecentRuns();

// First code points of the runs and their bits: for those who need whole sets.
struct ClassRun {
  char32_t first, last;
  std::uint32_t bits;
};
std::vector<ClassRun> ClassRuns();

// The lowercase of one character, without context; up to three characters, or none: the character
// stays.
std::u32string_view Lowercase(char32_t c);

// Canonical combining classes other than 0, full decompositions (Hangul left out), and primary
// compositions.
struct CombiningRun {
  char32_t first, last;
  std::uint8_t combining;
};
struct CharMapping {
  char32_t from;
  std::u32string to;
};
struct CharComposition {
  char32_t first, second, composed;
};
std::vector<CombiningRun> CombiningRuns();
std::vector<CharMapping> CanonicalMappings();
std::vector<CharMapping> CompatibilityMappings();  // only where they differ from the canonical ones
std::vector<CharComposition> Compositions();

// The script as the UnicodeScripts pre-tokenizer numbers it; 0 goes with any.
int Script(char32_t c);

}  // namespace tonnage
