#include "tokenizer/unicode.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

namespace tonnage {
namespace {

#include "tokenizer/unicode_tables.inc"

constexpr char32_t kCodePoints = 0x110000;

// From rows of code point, count, and so many code points.
std::vector<CharMapping> ReadMappings(std::span<const std::uint32_t> rows) {
  std::vector<CharMapping> mappings;
  for (std::size_t i = 0; i < rows.size(); i += 2 + rows[i + 1]) {
    const auto to = rows.subspan(i + 2, rows[i + 1]);
    mappings.push_back({rows[i], std::u32string(to.begin(), to.end())});
  }
  return mappings;
}

}  // namespace

std::vector<ClassRun> ClassRuns() {
  std::vector<ClassRun> runs;
  for (std::size_t i = 0; i < std::size(kClassRuns); i += 2) {
    const char32_t next = i + 2 < std::size(kClassRuns) ? kClassRuns[i + 2] : kCodePoints;
    runs.push_back({kClassRuns[i], next - 1, kClassRuns[i + 1]});
  }
  return runs;
}

std::span<const RecentRun> RecentRuns() { return kRecentRuns; }

const CharClasses& CharClasses::Get() {
  static const CharClasses classes;
  return classes;
}

CharClasses::CharClasses() {
  std::map<Page, std::uint16_t> known;
  std::size_t run = 0;
  for (char32_t first = 0; first < kCodePoints; first += 256) {
    Page page;
    for (char32_t i = 0; i < 256; ++i) {
      if (run + 2 < std::size(kClassRuns) && kClassRuns[run + 2] == first + i) run += 2;
      page[i] = kClassRuns[run + 1];
    }
    const auto [it, added] = known.emplace(page, static_cast<std::uint16_t>(pages_.size()));
    if (added) pages_.push_back(page);
    index_[first >> 8] = it->second;
  }
  std::copy_n(pages_[index_[0]].begin(), std::size(ascii_), ascii_);
}

std::u32string_view Lowercase(char32_t c) {
  static const std::unordered_map<char32_t, std::u32string> map = [] {
    std::unordered_map<char32_t, std::u32string> result;
    for (CharMapping& mapping : ReadMappings(kLowercase)) result.emplace(mapping.from, mapping.to);
    return result;
  }();
  static const std::u32string ascii = [] {
    std::u32string result;
    for (char32_t i = 0; i < 0x80; ++i) result += i >= 'A' && i <= 'Z' ? i + ('a' - 'A') : i;
    return result;
  }();
  if (c < 0x80) return std::u32string_view(ascii).substr(c, 1);
  const auto it = map.find(c);
  return it == map.end() ? std::u32string_view() : std::u32string_view(it->second);
}

std::vector<CombiningRun> CombiningRuns() {
  std::vector<CombiningRun> runs;
  for (std::size_t i = 0; i + 2 < std::size(kCombiningRuns); i += 2) {
    const auto combining = static_cast<std::uint8_t>(kCombiningRuns[i + 1]);
    if (combining != 0) runs.push_back({kCombiningRuns[i], kCombiningRuns[i + 2] - 1, combining});
  }
  return runs;
}

std::vector<CharMapping> CanonicalMappings() { return ReadMappings(kCanonical); }

std::vector<CharMapping> CompatibilityMappings() { return ReadMappings(kCompatibility); }

std::vector<CharComposition> Compositions() {
  std::vector<CharComposition> result;
  for (std::size_t i = 0; i < std::size(kCompositions); i += 3) {
    result.push_back({kCompositions[i], kCompositions[i + 1], kCompositions[i + 2]});
  }
  return result;
}

int Script(char32_t c) {
  const auto* it = std::upper_bound(std::begin(kScriptFirsts), std::end(kScriptFirsts), c);
  return it == std::begin(kScriptFirsts) ? 0 : kScriptNumbers[it - std::begin(kScriptFirsts) - 1];
}

}  // namespace tonnage
