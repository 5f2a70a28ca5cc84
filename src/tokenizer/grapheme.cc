#include "tokenizer/grapheme.h"

#include <unicode/uchar.h>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

int BreakClass(char32_t c) {
  const int known = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK);
  // Marks that are newer than the ICU at hand.
  if (known == U_GCB_OTHER && CharClasses::Get()[c] & (kMn | kMe)) return U_GCB_EXTEND;
  return known;
}

bool IsBreaking(int c) { return c == U_GCB_CONTROL || c == U_GCB_CR || c == U_GCB_LF; }

// Whether two syllable parts stay together.
bool JoinsHangul(int left, int right) {
  switch (left) {
    case U_GCB_L:
      return right == U_GCB_L || right == U_GCB_V || right == U_GCB_LV || right == U_GCB_LVT;
    case U_GCB_LV:
    case U_GCB_V:
      return right == U_GCB_V || right == U_GCB_T;
    case U_GCB_LVT:
    case U_GCB_T:
      return right == U_GCB_T;
    default:
      return false;
  }
}

}  // namespace

std::size_t GraphemeEnd(std::string_view text, std::size_t pos) {
  const auto is_pictograph = [](char32_t c) {
    return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
  };
  char32_t c = NextChar(text, pos);
  int left = BreakClass(c);
  bool pictograph = is_pictograph(c);  // a pictograph, and since then only marks
  bool joiner = false;                 // behind it a zero-width joiner
  int flags = left == U_GCB_REGIONAL_INDICATOR ? 1 : 0;
  while (pos < text.size()) {
    std::size_t next = pos;
    c = NextChar(text, next);
    const int right = BreakClass(c);
    bool joined = false;
    if (left == U_GCB_CR && right == U_GCB_LF) {
      joined = true;
    } else if (IsBreaking(left) || IsBreaking(right)) {
      joined = false;
    } else {
      joined = JoinsHangul(left, right) || right == U_GCB_EXTEND || right == U_GCB_ZWJ ||
               right == U_GCB_SPACING_MARK || left == U_GCB_PREPEND ||
               (joiner && is_pictograph(c)) ||
               (right == U_GCB_REGIONAL_INDICATOR && flags % 2 == 1);
    }
    if (!joined) return pos;
    joiner = pictograph && right == U_GCB_ZWJ;
    pictograph = is_pictograph(c) || (pictograph && (right == U_GCB_EXTEND || right == U_GCB_ZWJ));
    flags = right == U_GCB_REGIONAL_INDICATOR ? flags + 1 : 0;
    left = right;
    pos = next;
  }
  return pos;
}

}  // namespace tonnage
