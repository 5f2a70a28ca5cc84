// Sets of characters as a regular expression's class describes them, and how PCRE2 is told of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

// Sorted ranges that neither touch nor overlap.
class CharSet {
 public:
  struct Range {
    char32_t first, last;
  };
  static CharSet OfBits(std::uint32_t any_of);  // characters with one of these bits (unicode.h)
  static CharSet All() { return CharSet({{0, 0x10FFFF}}); }

  CharSet() = default;
  explicit CharSet(std::vector<Range> ranges);
  void Add(const CharSet& other);
  CharSet Complement() const;
  CharSet Intersection(const CharSet& other) const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

// A named or escaped class: what to write between PCRE2's brackets for it, and the set itself where
// we know all of it.
struct CharClass {
  std::string pcre2;
  std::optional<CharSet> set;
};

// `\p{name}` (also `\p{^name}`), which is a general category, a script or a POSIX class.
Result<CharClass> PropertyClass(std::string_view name);
// `[:name:]`.
Result<CharClass> PosixClass(std::string_view name);
// \d, \s, \w or \h.
CharClass EscapeClass(char letter);

// The same characters, in PCRE2's notation between brackets.
std::string RangesForPcre2(const CharSet& set);

}  // namespace tonnage
