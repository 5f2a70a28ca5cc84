#include "tokenizer/tiktoken.h"

#include <gtest/gtest.h>

#include "tokenizer/golden.h"

namespace tonnage {
namespace {

std::vector<std::pair<std::string, int>> GoldenTokens() {
  auto tokens = ParseTiktoken(golden::ReadFile(golden::Folder() / "tiktoken.tiktoken"));
  EXPECT_TRUE(tokens.ok()) << tokens.error().message();
  return *std::move(tokens);
}

class TiktokenGolden : public testing::TestWithParam<const char*> {};

TEST_P(TiktokenGolden, EncodesAndDecodesLikeTheReference) {
  auto pattern = TiktokenPattern(GetParam());
  ASSERT_TRUE(pattern.ok());
  auto parts = MakeTiktokenParts(GoldenTokens(), *pattern, {{"<|end|>", 600}});
  ASSERT_TRUE(parts.ok()) << parts.error().message();
  auto tokenizer = Tokenizer::FromParts(*std::move(parts));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message();
  const auto rows =
      golden::ReadRows(golden::Folder() / fmt::format("tiktoken_{}.jsonl", GetParam()));
  for (const golden::Row& row : rows) {
    EXPECT_EQ((*tokenizer)->Encode(row.text, false).value(), row.ids) << row.text;
    EXPECT_EQ((*tokenizer)->Decode(row.ids, true).value(), row.decoded);
  }
  EXPECT_EQ((*tokenizer)->Encode("<|end|>", false).value(), std::vector<int>{600});
}

INSTANTIATE_TEST_SUITE_P(Patterns, TiktokenGolden,
                         testing::Values("gpt2", "cl100k_base", "o200k_base", "qwen", "llama3",
                                         "kimi-k2"));

TEST(Tiktoken, RefusesMalformedFilesNamingTheLine) {
  for (const char* text : {"", "\n", "YQ==", "YQ= 1", "Y*== 1", "YQ== x", "YQ== -1", "YQ== 1 2",
                           " 1", "YQ== 99999999999"}) {
    EXPECT_FALSE(ParseTiktoken(text).ok()) << text;
  }
  EXPECT_NE(ParseTiktoken("YQ== 0\nYg==\n").error().message().find("line 2"), std::string::npos);
}

TEST(Tiktoken, RefusesRepeatedTokensAndRanksAndMissingBytes) {
  auto tokens = GoldenTokens();
  tokens.emplace_back(tokens[300].first, 601);
  EXPECT_FALSE(TiktokenRanks::Create(std::move(tokens)).ok());
  tokens = GoldenTokens();
  tokens[300].second = tokens[301].second;
  EXPECT_FALSE(TiktokenRanks::Create(std::move(tokens)).ok());
  tokens = GoldenTokens();
  std::erase_if(tokens, [](const auto& token) { return token.first == "a"; });
  EXPECT_NE(TiktokenRanks::Create(std::move(tokens)).error().message().find("0x61"),
            std::string::npos);
}

TEST(Tiktoken, NamesTheKnownPatterns) {
  EXPECT_NE(TiktokenPattern("unheard-of").error().message().find("o200k_base"), std::string::npos);
}

}  // namespace
}  // namespace tonnage
