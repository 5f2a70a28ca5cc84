#include "service/text_stream.h"

#include <gtest/gtest.h>

#include "service/text.h"

namespace tonnage {
namespace {

class TextStreamTest : public testing::Test {
 protected:
  // The parts that come out, one a token, and what is left.
  std::vector<std::string> Stream(const std::vector<TokenId>& ids) {
    TextStream stream(tokenizer());
    std::vector<std::string> parts;
    for (TokenId id : ids) EXPECT_TRUE(stream.Push(id, parts.emplace_back()).ok());
    EXPECT_TRUE(stream.Finish(parts.emplace_back()).ok());
    return parts;
  }
  const Tokenizer& tokenizer() const { return *text_->tokenizer; }

  Result<ModelText> text_ = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
};

TEST_F(TextStreamTest, GivesOutWholeCharacters) {
  const auto ids = tokenizer().Encode("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80!", false).value();
  ASSERT_EQ(ids.size(), 11u);
  const std::vector<std::string> expected = {
      "a", "", "\xC3\xA9", "", "", "\xE2\x82\xAC", "", "", "", "\xF0\x9F\x98\x80", "!", ""};
  EXPECT_EQ(Stream(ids), expected);
}

TEST_F(TextStreamTest, AllPartsAreTheWholeText) {
  for (const std::string text :
       {"plain words", "na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", ""}) {
    const auto ids = tokenizer().Encode(text, false).value();
    std::string joined;
    for (const std::string& part : Stream(ids)) joined += part;
    EXPECT_EQ(joined, text);
  }
}

TEST_F(TextStreamTest, ACharacterThatNeverEndsComesAtTheEnd) {
  auto ids = tokenizer().Encode("x\xE2\x82\xAC", false).value();
  ids.pop_back();
  const auto parts = Stream(ids);
  EXPECT_EQ(parts[0], "x");
  EXPECT_EQ(parts[1] + parts[2], "");
  EXPECT_EQ(parts[3], "\xEF\xBF\xBD");
}

TEST_F(TextStreamTest, SpecialTokensHaveNoText) {
  EXPECT_EQ(Stream({1, 2, 0}), (std::vector<std::string>{"", "", "", ""}));
}

}  // namespace
}  // namespace tonnage
