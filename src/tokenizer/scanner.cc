#include "tokenizer/scanner.h"

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

constexpr std::uint32_t kUpperPart =
    kLu | kLt | kLm | kLo | kMark;                             // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
constexpr std::uint32_t kLowerPart = kLl | kLm | kLo | kMark;  // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
constexpr std::uint32_t kWordPart = kLetter | kNumber;         // [\p{L}\p{N}]

// A text with the classes of its characters at hand.
class Chars {
 public:
  explicit Chars(std::string_view text) : text_(text), classes_(CharClasses::Get()) {}

  std::size_t size() const { return text_.size(); }
  char operator[](std::size_t pos) const { return text_[pos]; }
  bool Is(std::size_t pos, char c) const { return pos < text_.size() && text_[pos] == c; }
  bool IsNewline(std::size_t pos) const { return Is(pos, '\n') || Is(pos, '\r'); }
  // The class at `pos` (none behind the end), and where the next character starts.
  std::uint32_t Bits(std::size_t pos) const {
    return pos < text_.size() ? classes_[CharAt(text_, pos)] : 0;
  }
  std::uint32_t Bits(std::size_t pos, std::size_t& next) const {
    next = pos;
    return classes_[NextChar(text_, next)];
  }
  std::size_t Next(std::size_t pos) const { return pos + CharLength(text_[pos]); }

  // Behind the run of characters with one of these bits, at most `limit` of them.
  std::size_t While(std::size_t pos, std::uint32_t any_of, std::size_t limit = SIZE_MAX) const {
    for (std::size_t next = pos; limit > 0 && pos < size(); pos = next, --limit) {
      if (!(Bits(pos, next) & any_of)) break;
    }
    return pos;
  }
  std::size_t WhileNot(std::size_t pos, std::uint32_t any_of) const {
    for (std::size_t next = pos; pos < size(); pos = next) {
      if (Bits(pos, next) & any_of) break;
    }
    return pos;
  }

 private:
  std::string_view text_;
  const CharClasses& classes_;
};

// 's|'t|'re|'ve|'m|'ll|'d; in any case, a long s (U+017F) is an s too.
template <bool kAnyCase>
std::size_t Contraction(const Chars& text, std::size_t pos) {
  if (!text.Is(pos, '\'') || pos + 1 >= text.size()) return pos;
  const auto letter = [&](std::size_t at) {
    const char c = at < text.size() ? text[at] : '\0';
    return kAnyCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  };
  const char first = letter(pos + 1), second = letter(pos + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return pos + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
      (first == 'l' && second == 'l')) {
    return pos + 3;
  }
  if (kAnyCase && text[pos + 1] == '\xC5' && text[pos + 2] == '\xBF') return pos + 3;
  return pos;
}

// \s+(?!\S)|\s+, and before them, where asked for, \s*[\r\n]+. At `pos` there is white space.
template <bool kNewlines>
std::size_t WhiteSpace(const Chars& text, std::size_t pos) {
  std::size_t end = pos, last = pos, after_newline = pos;
  for (std::size_t next = pos; end < text.size(); end = next) {
    if (!(text.Bits(end, next) & kSpace)) break;
    last = end;
    if (kNewlines && text.IsNewline(end)) after_newline = next;
  }
  if (after_newline > pos) return after_newline;
  // Before a word, the last character stays for it, unless it is the only one.
  return end == text.size() || last == pos ? end : last;
}

std::size_t Gpt2(std::string_view whole, std::size_t pos) {
  const Chars text(whole);
  if (const std::size_t end = Contraction<false>(text, pos); end > pos) return end;
  const std::size_t word = text[pos] == ' ' ? pos + 1 : pos;
  const std::uint32_t bits = text.Bits(word);
  if (bits & kLetter) return text.While(word, kLetter);
  if (bits & kNumber) return text.While(word, kNumber);
  if (word < text.size() && !(bits & kSpace)) return text.WhileNot(word, kSpace | kWordPart);
  return WhiteSpace<false>(text, pos);
}

// ?[^\s\p{L}\p{N}]+[\r\n]* (with the slash too for GPT-4o), then the white space. What is left to
// match is neither letter nor number.
template <bool kSlash>
std::size_t SymbolsOrSpace(const Chars& text, std::size_t pos) {
  const std::size_t symbols = text[pos] == ' ' ? pos + 1 : pos;
  std::size_t end = text.WhileNot(symbols, kSpace | kWordPart);
  if (end == symbols) return WhiteSpace<true>(text, pos);
  while (text.IsNewline(end) || (kSlash && text.Is(end, '/'))) ++end;
  return end;
}

// Llama 3 (digits in threes) and Qwen 2 (one by one).
template <int kDigits>
std::size_t Llama3(std::string_view whole, std::size_t pos) {
  const Chars text(whole);
  if (const std::size_t end = Contraction<true>(text, pos); end > pos) return end;
  std::size_t next = pos;
  const std::uint32_t bits = text.Bits(pos, next);
  if (bits & kLetter) return text.While(next, kLetter);
  if (bits & kNumber) return text.While(pos, kNumber, kDigits);
  if (!text.IsNewline(pos) && text.Bits(next) & kLetter) return text.While(next, kLetter);
  return SymbolsOrSpace<false>(text, pos);
}

// upper*lower+ where `lower_needed`, else upper+lower*; the two sets share some letters, so the
// first may have to give one back to the second. Returns `pos` where nothing matches.
std::size_t CasedWord(const Chars& text, std::size_t pos, bool lower_needed) {
  std::size_t end = pos, behind_shared = pos;
  for (std::size_t next = pos; end < text.size(); end = next) {
    const std::uint32_t bits = text.Bits(end, next);
    if (!(bits & kUpperPart)) break;
    if (bits & kLowerPart) behind_shared = next;
  }
  const std::size_t lower = text.While(end, kLowerPart);
  if (!lower_needed) return end > pos ? lower : pos;
  return lower > end ? lower : behind_shared;
}

// GPT-4o (o200k) and Mistral's Tekken.
template <bool kContractions, int kDigits>
std::size_t Gpt4o(std::string_view whole, std::size_t pos) {
  const Chars text(whole);
  std::size_t next = pos;
  const std::uint32_t bits = text.Bits(pos, next);
  if (bits & kNumber) return text.While(pos, kNumber, kDigits);
  const bool prefix = !text.IsNewline(pos) && !(bits & kWordPart);
  for (const bool lower_needed : {true, false}) {
    for (const std::size_t start : {next, pos}) {
      if (start == next && !prefix) continue;
      const std::size_t end = CasedWord(text, start, lower_needed);
      if (end > start) return kContractions ? Contraction<true>(text, end) : end;
    }
  }
  return SymbolsOrSpace<true>(text, pos);
}

std::size_t Numbers3(std::string_view whole, std::size_t pos) {
  return Chars(whole).While(pos, kNumber, 3);
}

// [一-龥぀-ゟ゠-ヿ]+
std::size_t HanAndKana(std::string_view text, std::size_t pos) {
  for (std::size_t next = pos; pos < text.size(); pos = next) {
    const char32_t c = NextChar(text, next);
    if (!((c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF))) break;
  }
  return pos;
}

bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsAsciiPunctuation(char c) {
  return c > ' ' && c < '\x7F' && !IsAsciiLetter(c) && !(c >= '0' && c <= '9');
}

std::size_t DeepSeekV3(std::string_view whole, std::size_t pos) {
  const Chars text(whole);
  if (IsAsciiPunctuation(text[pos]) && pos + 1 < text.size() && IsAsciiLetter(text[pos + 1])) {
    std::size_t end = pos + 1;
    while (end < text.size() && IsAsciiLetter(text[end])) ++end;
    return end;
  }
  constexpr std::uint32_t kLetters = kLetter | kMark, kSymbols = kPunctuation | kSymbol;
  std::size_t next = pos;
  const std::uint32_t bits = text.Bits(pos, next);
  if (!text.IsNewline(pos) && !(bits & (kLetter | kSymbols)) && text.Bits(next) & kLetters) {
    return text.While(next, kLetters);
  }
  if (bits & kLetters) return text.While(pos, kLetters);
  const std::size_t symbols = text[pos] == ' ' ? pos + 1 : pos;
  std::size_t end = text.While(symbols, kSymbols);
  if (end > symbols) {
    while (text.IsNewline(end)) ++end;
    return end;
  }
  return bits & kSpace ? WhiteSpace<true>(text, pos) : pos;
}

constexpr KnownExpression kKnown[] = {
    {"gpt2", kGpt2Expression, Gpt2},
    {"llama3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Llama3<3>},
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Llama3<1>},
    {"gpt-4o",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Gpt4o<true, 3>},
    {"tekken",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Gpt4o<false, 1>},
    {"deepseek-v3 numbers", R"(\p{N}{1,3})", Numbers3},
    {"deepseek-v3 han and kana", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", HanAndKana},
    {"deepseek-v3",
     "[!\"#$%&'()*+,\\-./"
     ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
     "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     DeepSeekV3},
};

}  // namespace

std::span<const KnownExpression> KnownExpressions() { return kKnown; }

Scanner FindScanner(std::string_view regex) {
  for (const KnownExpression& known : kKnown) {
    if (known.regex == regex) return known.scanner;
  }
  return nullptr;
}

}  // namespace tonnage
