// Patterns that normalizers, pre-tokenizers and decoders look for in a text. Immutable after they
// were made; any thread may search with one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

struct Match {
  std::size_t begin, end;  // bytes; may be empty
  bool operator==(const Match&) const = default;
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Appends all matches from left to right, none overlapping; an empty one never directly behind
  // the match before it. An error where the pattern takes more steps or memory than a sound one
  // needs.
  virtual Status FindAll(std::string_view text, std::vector<Match>& matches) const = 0;
};

std::unique_ptr<Pattern> MakeLiteralPattern(std::string literal);
// `regex` in Oniguruma's Ruby syntax. The well-known expressions run as code of our own
// (scanner.h), others on PCRE2.
Result<std::unique_ptr<Pattern>> MakeRegexPattern(std::string_view regex);
// The same, always on PCRE2: what scanners are tested against.
Result<std::unique_ptr<Pattern>> MakePcre2Pattern(std::string_view regex);

// The text with every match replaced by `content`.
Result<std::string> ReplaceAll(const Pattern& pattern, std::string_view text,
                               std::string_view content);

}  // namespace tonnage
