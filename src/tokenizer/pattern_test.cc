#include "tokenizer/pattern.h"

#include <gtest/gtest.h>

#include "tokenizer/regex_syntax.h"

namespace tonnage {
namespace {

// What the expression matches, each in brackets, as Oniguruma does it.
std::string Marked(std::string_view regex, std::string_view text) {
  const auto pattern = MakeRegexPattern(regex);
  if (!pattern.ok()) return pattern.error().message();
  std::vector<Match> matches;
  const Status status = (*pattern)->FindAll(text, matches);
  if (!status.ok()) return status.error().message();
  std::string out;
  std::size_t last = 0;
  for (const Match& match : matches) {
    out += text.substr(last, match.begin - last);
    out += '[' + std::string(text.substr(match.begin, match.end - match.begin)) + ']';
    last = match.end;
  }
  return out + std::string(text.substr(last));
}

TEST(Pattern, LiteralsDoNotOverlap) {
  std::vector<Match> matches;
  ASSERT_TRUE(MakeLiteralPattern("aa")->FindAll("aaaaa", matches).ok());
  EXPECT_EQ(matches, (std::vector<Match>{{0, 2}, {2, 4}}));
}

TEST(Pattern, TheEmptyLiteralStandsBetweenCharacters) {
  std::vector<Match> matches;
  ASSERT_TRUE(MakeLiteralPattern("")->FindAll("aé", matches).ok());
  EXPECT_EQ(matches, (std::vector<Match>{{0, 0}, {1, 1}, {3, 3}}));
}

TEST(Pattern, EmptyMatchesAreKeptExceptDirectlyBehindAMatch) {
  EXPECT_EQ(Marked("a*", "baac"), "[]b[aa]c[]");
  EXPECT_EQ(Marked("^", "ab\ncd\n"), "[]ab\n[]cd\n");
  EXPECT_EQ(Marked("$", "ab\ncd\n"), "ab[]\ncd[]\n[]");
}

TEST(Pattern, RubysOptionsReachToTheEndOfTheirGroup) {
  EXPECT_EQ(Marked("a(?i)b|c", "aB c C ac"), "[aB] c C [ac]");
  EXPECT_EQ(Marked("(?m:.)", "a\n"), "[a][\n]");
  EXPECT_EQ(Marked("(?x: \\d + # digits\n )", "a12"), "a[12]");
}

TEST(Pattern, RubysQuantifiersAreNotPcres) {
  EXPECT_EQ(Marked("a{2}+", "aaaaa"), "[aaaa]a");
  EXPECT_EQ(Marked("(?:a{2}?)b", "b aab"), "[b] [aab]");
  EXPECT_EQ(Marked("a{,2}", "aaa"), "[aa][a]");
  EXPECT_EQ(Marked("a{x}", "a{x}"), "[a{x}]");
}

TEST(Pattern, ClassesNestAndIntersect) {
  EXPECT_EQ(Marked("[a-z&&[^aeiou]]+", "hello"), "[h]e[ll]o");
  EXPECT_EQ(Marked("[\\P{L}&&[^ ]]", "a 1"), "a [1]");
  EXPECT_EQ(Marked("[[:alpha:]_]+", "ab_1"), "[ab_]1");
  EXPECT_EQ(Marked("[]a]", "]a"), "[]][a]");
}

TEST(Pattern, ClassesAreThoseOfTheReference) {
  EXPECT_EQ(Marked("\\s", "\u180E\u0085"), "\u180E[\u0085]");  // no space since Unicode 6.3
  EXPECT_EQ(Marked("\\w", "\u00B2"), "[\u00B2]");              // a word character,
  EXPECT_EQ(Marked("[\\w]", "\u00B2"), "\u00B2");              // but not between brackets
  EXPECT_EQ(Marked("\\p{L}", "\U000323AF"), "[\U000323AF]");   // newer than PCRE2's tables
  EXPECT_EQ(Marked("\\p{Punct}", "$."), "$[.]");
  EXPECT_EQ(Marked("[[:punct:]]", "$."), "[$][.]");
  EXPECT_EQ(Marked("\\p{Han}", "\u30FC\u4E2D"),
            "\u30FC[\u4E2D]");  // the script, not its extensions
}

TEST(Pattern, RefusesByName) {
  for (const char* regex : {"\\X", "\\K", "(?~a)", "(?(1)a|b)", "\\g<1>", "[a-\\d]",
                            "\\p{NoSuchThing}", "(a", "a)", "[a", "*", "(?<n>a)\\1"}) {
    const auto pattern = MakeRegexPattern(regex);
    ASSERT_FALSE(pattern.ok()) << regex;
    EXPECT_NE(pattern.error().message().find("regular expression"), std::string::npos);
  }
}

TEST(Pattern, NestingIsBounded) {
  const std::string groups = std::string(10000, '(') + "a" + std::string(10000, ')');
  EXPECT_FALSE(MakeRegexPattern(groups).ok());
  const std::string classes = std::string(10000, '[') + "a" + std::string(10000, ']');
  EXPECT_FALSE(MakeRegexPattern(classes).ok());
}

TEST(Pattern, AnExplodingExpressionGivesUpWithAnError) {
  const auto pattern = MakeRegexPattern("(?:a+)+$|(?:a|aa)+b").value();
  std::vector<Match> matches;
  const Status status = pattern->FindAll(std::string(60, 'a') + "!", matches);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("gave up"), std::string::npos);
}

}  // namespace
}  // namespace tonnage
