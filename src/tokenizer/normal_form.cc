#include "tokenizer/normal_form.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// Hangul syllables are computed, not listed.
constexpr char32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
constexpr char32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

bool IsSyllable(char32_t c) { return c >= kSyllables && c < kSyllables + kSyllableCount; }

enum Quick : std::uint8_t {
  kCanonical = 1,      // has a canonical decomposition
  kCompatibility = 2,  // has some decomposition
  kChangesAlone = 4,   // its canonical decomposition does not compose to it again
  kJoinsLeft = 8,      // may compose with what stands before it
};

class Tables {
 public:
  static const Tables& Get() {
    static const Tables tables;
    return tables;
  }

  int CombiningClass(char32_t c) const { return pages_[index_[c >> 8]][c & 0xFF].combining; }
  int QuickBits(char32_t c) const { return pages_[index_[c >> 8]][c & 0xFF].quick; }

  void Decompose(char32_t c, bool compatibility, std::u32string& out) const {
    if (IsSyllable(c)) {
      const char32_t syllable = c - kSyllables;
      out += kLeading + syllable / (kVowelCount * kTrailingCount);
      out += kVowels + syllable / kTrailingCount % kVowelCount;
      if (syllable % kTrailingCount != 0) out += kTrailing + syllable % kTrailingCount;
      return;
    }
    if (!(QuickBits(c) & (compatibility ? kCompatibility : kCanonical))) {
      out += c;
      return;
    }
    if (compatibility) {
      if (const auto it = compatibility_.find(c); it != compatibility_.end()) {
        out += it->second;
        return;
      }
    }
    out += canonical_.at(c);
  }

  // The composition of a pair, or 0.
  char32_t Compose(char32_t first, char32_t second) const {
    if (first >= kLeading && first < kLeading + kLeadingCount && second >= kVowels &&
        second < kVowels + kVowelCount) {
      return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
    }
    if (IsSyllable(first) && (first - kSyllables) % kTrailingCount == 0 && second > kTrailing &&
        second < kTrailing + kTrailingCount) {
      return first + (second - kTrailing);
    }
    const auto it = compositions_.find(static_cast<std::uint64_t>(first) << 32 | second);
    return it == compositions_.end() ? 0 : it->second;
  }

 private:
  struct Info {
    std::uint8_t combining = 0;
    std::uint8_t quick = 0;
  };

  Tables() : pages_(1) {
    for (const CombiningRun& run : CombiningRuns()) {
      for (char32_t c = run.first; c <= run.last; ++c) At(c).combining = run.combining;
    }
    for (const CharMapping& mapping : CanonicalMappings()) {
      canonical_.emplace(mapping.from, mapping.to);
      At(mapping.from).quick |= kCanonical | kCompatibility | kChangesAlone;
    }
    for (const CharMapping& mapping : CompatibilityMappings()) {
      compatibility_.emplace(mapping.from, mapping.to);
      At(mapping.from).quick |= kCompatibility;
    }
    for (const CharComposition& composition : Compositions()) {
      compositions_.emplace(
          static_cast<std::uint64_t>(composition.first) << 32 | composition.second,
          composition.composed);
      At(composition.composed).quick &= ~kChangesAlone;
      At(composition.second).quick |= kJoinsLeft;
    }
    for (char32_t i = 0; i < kSyllableCount; ++i) {
      At(kSyllables + i).quick = kCanonical | kCompatibility;
    }
    for (char32_t i = 0; i < kVowelCount; ++i) At(kVowels + i).quick |= kJoinsLeft;
    for (char32_t i = 1; i < kTrailingCount; ++i) At(kTrailing + i).quick |= kJoinsLeft;
  }

  Info& At(char32_t c) {
    std::uint16_t& page = index_[c >> 8];
    if (page == 0) {
      page = static_cast<std::uint16_t>(pages_.size());
      pages_.emplace_back();
    }
    return pages_[page][c & 0xFF];
  }

  std::array<std::uint16_t, 0x1100> index_{};
  std::vector<std::array<Info, 256>> pages_;  // the first one is of characters without any property
  std::unordered_map<char32_t, std::u32string> canonical_, compatibility_;
  std::unordered_map<std::uint64_t, char32_t> compositions_;
};

// Whether nothing in the text can change.
bool IsNormalized(const Tables& tables, std::string_view text, int changing) {
  for (std::size_t pos = 0; pos < text.size();) {
    if (static_cast<unsigned char>(text[pos]) < 0x80) {
      ++pos;
      continue;
    }
    const char32_t c = NextChar(text, pos);
    if (tables.CombiningClass(c) != 0 || tables.QuickBits(c) & changing) return false;
  }
  return true;
}

// Puts every run of marks in the order of their classes.
void Reorder(const Tables& tables, std::u32string& text) {
  for (std::size_t i = 0; i < text.size();) {
    if (tables.CombiningClass(text[i]) == 0) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && tables.CombiningClass(text[i]) != 0) ++i;
    std::stable_sort(text.begin() + begin, text.begin() + i, [&](char32_t a, char32_t b) {
      return tables.CombiningClass(a) < tables.CombiningClass(b);
    });
  }
}

void Compose(const Tables& tables, std::u32string& text) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::size_t starter = kNone, out = 0;
  int last_class = -1;  // of what stands between the starter and here; -1: nothing does
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    const int combining = tables.CombiningClass(c);
    if (starter != kNone && last_class < combining) {
      if (const char32_t composed = tables.Compose(text[starter], c)) {
        text[starter] = composed;
        continue;
      }
    }
    if (combining == 0) {
      starter = out;
      last_class = -1;
    } else {
      last_class = combining;
    }
    text[out++] = c;
  }
  text.resize(out);
}

}  // namespace

std::optional<std::string> Normalized(NormalForm form, std::string_view text) {
  const Tables& tables = Tables::Get();
  const bool compatibility = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  int changing = compatibility ? kCompatibility : kCanonical;
  if (form == NormalForm::kNfc) changing = kChangesAlone | kJoinsLeft;
  if (form == NormalForm::kNfkc) changing = kCompatibility | kJoinsLeft;
  if (IsNormalized(tables, text, changing)) return std::nullopt;

  std::u32string chars;
  chars.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();) {
    const char32_t c = NextChar(text, pos);
    if (c < 0x80) {
      chars += c;
    } else {
      tables.Decompose(c, compatibility, chars);
    }
  }
  Reorder(tables, chars);
  if (compose) Compose(tables, chars);
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : chars) AppendChar(out, c);
  return out;
}

}  // namespace tonnage
