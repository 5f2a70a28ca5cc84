#include "tokenizer/scanner.h"

#include <gtest/gtest.h>

#include <random>

#include "tokenizer/pattern.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// Characters where the expressions' classes meet: letters of every case, marks, numbers, symbols,
// spaces, and what a case-insensitive `s` also is.
std::string RandomText(std::mt19937& random) {
  static const std::u32string kCorners =
      U"aAzZsStTdDmMlLrReEvV'''   "
      U"\n\n\r\t/\u017F\u212A\u00DF\u01C5\u02B0\u0301\u0903\u20DD\u4E2D\u3042\u30FC\uAC00"
      U"0129\u0663\u2167\u00B2.,!?()-_$+"
      U"\u2028\u00A0\u3000\u200B\u180E\u0085\u00E9\u0130\U0001F600\U0001D400\u16EE\u0378";
  std::string text;
  const int length = static_cast<int>(random() % 24);
  for (int i = 0; i < length; ++i) {
    char32_t c = kCorners[random() % kCorners.size()];
    if (random() % 8 == 0) {
      do {
        c = random() % 0x110000;
      } while (c >= 0xD800 && c < 0xE000);
    }
    const int repeats = random() % 6 == 0 ? 4 : 1;
    for (int k = 0; k < repeats; ++k) AppendChar(text, c);
  }
  return text;
}

class ScannerTest : public testing::TestWithParam<KnownExpression> {};

TEST_P(ScannerTest, MatchesAsTheExpressionDoes) {
  const KnownExpression& known = GetParam();
  const auto scanned = MakeRegexPattern(known.regex).value();
  const auto compiled = MakePcre2Pattern(known.regex).value();
  std::mt19937 random(20230901);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = RandomText(random);
    std::vector<Match> ours, theirs;
    ASSERT_TRUE(scanned->FindAll(text, ours).ok());
    ASSERT_TRUE(compiled->FindAll(text, theirs).ok());
    ASSERT_EQ(ours, theirs) << testing::PrintToString(text);
  }
}

INSTANTIATE_TEST_SUITE_P(Known, ScannerTest,
                         testing::ValuesIn(KnownExpressions().begin(), KnownExpressions().end()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(Scanner, IsFoundByTheExactExpressionOnly) {
  EXPECT_NE(FindScanner(kGpt2Expression), nullptr);
  EXPECT_EQ(FindScanner("\\p{L}+"), nullptr);
}

}  // namespace
}  // namespace tonnage
