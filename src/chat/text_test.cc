#include "chat/text.h"

#include <gtest/gtest.h>

namespace tonnage::chat {
namespace {

TEST(Text, IllFormedBytesAreOneCharacterEach) {
  EXPECT_EQ(CountChars("aé日😀"), 4);
  EXPECT_EQ(CountChars("\xff\xc3"), 2);
  EXPECT_EQ(CountChars("\xed\xa0\x80"), 3);  // a surrogate is no character
  EXPECT_EQ(CountChars("\xf0\x9f\x98"), 3);  // cut short
  EXPECT_EQ(OffsetOfChar("aé日", 2), 3u);
  EXPECT_EQ(PreviousChar("aé", 3), 1u);
  EXPECT_EQ(PreviousChar("a\x80\x80", 3), 2u);
  EXPECT_EQ(Decode("é\xff"), (std::vector<char32_t>{0xE9, 0xFFFD}));
}

TEST(Text, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(StripSpace("\u3000 \x1c x\u00a0\n"), "x");
  EXPECT_EQ(StripSpaceLeft(" a "), "a ");
  EXPECT_EQ(StripSpaceRight(" a "), " a");
  EXPECT_EQ(StripSpace(" \n"), "");
}

TEST(Text, CaseMapsMayLengthenText) {
  EXPECT_EQ(Upper("straße ﬁ"), "STRASSE FI");
  EXPECT_EQ(Lower("ΑΣ ΑΣΑ İ"), "ας ασα i̇");
  EXPECT_EQ(Title("ǆa ßb it's"), "ǅa Ssb It'S");
  EXPECT_EQ(Capitalize("éÀ"), "Éà");
  EXPECT_EQ(SwapCase("aBß"), "AbSS");
  EXPECT_EQ(CaseFold("Straße"), "strasse");
}

}  // namespace
}  // namespace tonnage::chat
