#include "tokenizer/char_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tokenizer/unicode.h"

namespace tonnage {
namespace {

struct Category {
  const char* name;
  const char* long_name;
  std::uint32_t bits;  // 0: not one of the classes in our table
};

constexpr Category kCategories[] = {
    {"L", "letter", kLetter},
    {"LC", "casedletter", kLu | kLl | kLt},
    {"Lu", "uppercaseletter", kLu},
    {"Ll", "lowercaseletter", kLl},
    {"Lt", "titlecaseletter", kLt},
    {"Lm", "modifierletter", kLm},
    {"Lo", "otherletter", kLo},
    {"M", "mark", kMark},
    {"Mn", "nonspacingmark", kMn},
    {"Mc", "spacingmark", kMc},
    {"Me", "enclosingmark", kMe},
    {"N", "number", kNumber},
    {"Nd", "decimalnumber", kNd},
    {"Nl", "letternumber", kNl},
    {"No", "othernumber", kNo},
    {"P", "punctuation", kPunctuation},
    {"Pc", "connectorpunctuation", 0},
    {"Pd", "dashpunctuation", 0},
    {"Ps", "openpunctuation", 0},
    {"Pe", "closepunctuation", 0},
    {"Pi", "initialpunctuation", 0},
    {"Pf", "finalpunctuation", 0},
    {"Po", "otherpunctuation", 0},
    {"S", "symbol", kSymbol},
    {"Sm", "mathsymbol", 0},
    {"Sc", "currencysymbol", 0},
    {"Sk", "modifiersymbol", 0},
    {"So", "othersymbol", 0},
    {"Z", "separator", 0},
    {"Zs", "spaceseparator", 0},
    {"Zl", "lineseparator", 0},
    {"Zp", "paragraphseparator", 0},
    {"Cc", "control", 0},
    {"Cf", "format", 0},
    {"Co", "privateuse", 0},
};

struct Posix {
  const char* name;
  std::uint32_t bits;
};

constexpr Posix kPosix[] = {
    {"alnum", kAlphabetic | kNd},
    {"alpha", kAlphabetic},
    {"digit", kNd},
    {"lower", kLower},
    {"space", kSpace},
    {"upper", kUpper},
    {"word", kRegexWord},
};

std::string Simplified(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return out;
}

std::string RangeForPcre2(char32_t first, char32_t last) {
  const auto number = [](char32_t c) {
    return fmt::format("\\x{{{:x}}}", static_cast<unsigned>(c));
  };
  return first == last ? number(first) : number(first) + "-" + number(last);
}

// Ranges of the characters since PCRE2's Unicode version that `matches`.
template <typename Matches>
std::string RecentForPcre2(const Matches& matches) {
  std::string out;
  for (const RecentRun& run : RecentRuns()) {
    if (matches(run)) out += RangeForPcre2(run.first, run.last);
  }
  return out;
}

CharClass Explicit(CharSet set) {
  std::string ranges = RangesForPcre2(set);
  return {std::move(ranges), std::move(set)};
}

CharClass Negated(const CharSet& set) { return Explicit(set.Complement()); }

std::optional<CharClass> CategoryClass(std::string_view name) {
  const std::string simple = Simplified(name);
  for (const Category& category : kCategories) {
    if (simple != Simplified(category.name) && simple != category.long_name) continue;
    const std::string_view letters = category.name;
    CharClass result;
    result.pcre2 = letters == "LC" ? "\\p{L&}" : fmt::format("\\p{{{}}}", letters);
    result.pcre2 += RecentForPcre2([&](const RecentRun& run) {
      const std::string_view its = run.category;
      if (letters == "LC") return its == "Lu" || its == "Ll" || its == "Lt";
      return its.starts_with(letters);
    });
    if (category.bits != 0) result.set = CharSet::OfBits(category.bits);
    return result;
  }
  return std::nullopt;
}

// \w between brackets.
CharClass BracketWord() {
  CharClass word;
  word.set = CharSet::OfBits(kRegexWord)
                 .Intersection(CharSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}).Complement());
  word.pcre2 = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
  word.pcre2 += RangesForPcre2(word.set->Intersection(CharSet::OfBits(kRecent)));
  return word;
}

std::optional<CharClass> PosixByName(std::string_view name) {
  if (name == "punct") {
    const CharSet set = CharSet::OfBits(kPunctuation | kSymbol);
    return CharClass{CategoryClass("P")->pcre2 + CategoryClass("S")->pcre2, set};
  }
  if (name == "xdigit") return EscapeClass('h');
  if (name == "blank") return CharClass{CategoryClass("Zs")->pcre2 + "\\t", std::nullopt};
  if (name == "cntrl") return CharClass{CategoryClass("Cc")->pcre2, std::nullopt};
  if (name == "ascii") return Explicit(CharSet({{0, 0x7F}}));
  for (const Posix& posix : kPosix) {
    if (name != posix.name) continue;
    if (posix.bits == kRegexWord) return BracketWord();
    return Explicit(CharSet::OfBits(posix.bits));
  }
  return std::nullopt;
}

}  // namespace

CharSet::CharSet(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

CharSet CharSet::OfBits(std::uint32_t any_of) {
  std::vector<Range> ranges;
  for (const ClassRun& run : ClassRuns()) {
    if (run.bits & any_of) ranges.push_back({run.first, run.last});
  }
  return CharSet(std::move(ranges));
}

void CharSet::Add(const CharSet& other) {
  std::vector<Range> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  *this = CharSet(std::move(all));
}

CharSet CharSet::Complement() const {
  CharSet result;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= 0x10FFFF) result.ranges_.push_back({next, 0x10FFFF});
  return result;
}

CharSet CharSet::Intersection(const CharSet& other) const {
  CharSet either = Complement();
  either.Add(other.Complement());
  return either.Complement();
}

Result<CharClass> PropertyClass(std::string_view name) {
  if (!name.empty() && name.front() == '^') {
    ASSIGN_OR_RETURN(const CharClass plain, PropertyClass(name.substr(1)));
    if (!plain.set) return Unsupported("the negated class \\p{{{}}} inside brackets", name);
    return Negated(*plain.set);
  }
  if (std::optional<CharClass> category = CategoryClass(name)) return *std::move(category);
  const std::string simple = Simplified(name);
  if (simple == "any") return Explicit(CharSet::All());
  if (simple == "cn" || simple == "unassigned") return Negated(CharSet::OfBits(kAssigned));
  if (simple == "assigned") return Explicit(CharSet::OfBits(kAssigned));
  if (simple == "punct") return *CategoryClass("P");  // without symbols, unlike [:punct:]
  if (simple == "alphabetic") return *PosixByName("alpha");
  if (std::optional<CharClass> posix = PosixByName(simple)) return *std::move(posix);
  // A script: PCRE2 knows its name or refuses the whole expression.
  CharClass script;
  script.pcre2 = fmt::format("\\p{{sc:{}}}", name);
  script.pcre2 +=
      RecentForPcre2([&](const RecentRun& run) { return Simplified(run.script) == simple; });
  return script;
}

Result<CharClass> PosixClass(std::string_view name) {
  const bool negated = !name.empty() && name.front() == '^';
  const std::optional<CharClass> posix = PosixByName(negated ? name.substr(1) : name);
  if (!posix || (negated && !posix->set)) return Unsupported("the class [:{}:]", name);
  return negated ? Negated(*posix->set) : *posix;
}

CharClass EscapeClass(char letter) {
  switch (letter) {
    case 'd':
      return *CategoryClass("Nd");
    case 's':
      return Explicit(CharSet::OfBits(kSpace));
    case 'h':
      return Explicit(CharSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}}));
    default:
      break;
  }
  CharClass word = BracketWord();
  // Six superscripts and fractions of Latin-1 are word characters except between brackets.
  const CharSet all = CharSet::OfBits(kRegexWord);
  word.pcre2 += RangesForPcre2(all.Intersection(word.set->Complement()));
  word.set = all;
  return word;
}

std::string RangesForPcre2(const CharSet& set) {
  std::string out;
  for (const CharSet::Range& range : set.ranges()) {
    // Surrogates are no characters, and PCRE2 refuses them.
    if (range.first >= 0xD800 && range.last < 0xE000) continue;
    if (range.first < 0xD800 && range.last >= 0xD800) {
      out += RangeForPcre2(range.first, 0xD7FF);
      if (range.last >= 0xE000) out += RangeForPcre2(0xE000, range.last);
    } else {
      out += RangeForPcre2(
          std::max<char32_t>(range.first,
                             range.first >= 0xD800 && range.first < 0xE000 ? 0xE000 : 0),
          range.last);
    }
  }
  return out;
}

}  // namespace tonnage
