#include "tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Utf8, GoesThereAndBack) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; c += 37) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const std::string one = CharToString(c);
    EXPECT_EQ(CharLength(one[0]), one.size());
    EXPECT_EQ(CharAt(one, 0), c);
    text += one;
  }
  EXPECT_EQ(ValidUtf8Prefix(text), text.size());
  EXPECT_EQ(ReplaceInvalidUtf8(text), text);
  EXPECT_EQ(PreviousChar("aé", 3), 1u);
}

TEST(Utf8, EveryMaximalIllFormedPartBecomesOneReplacement) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE4\xB8z"), "\uFFFDz");  // cut short
  EXPECT_EQ(ReplaceInvalidUtf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\x80"), "\uFFFD\uFFFD");  // overlong
  EXPECT_EQ(ReplaceInvalidUtf8("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\x80\xBF"), "\uFFFD\uFFFD");
  EXPECT_EQ(ValidUtf8Prefix("abcdefgh\xC3"), 8u);
}

}  // namespace
}  // namespace tonnage
