#include "tokenizer/token_bytes.h"

#include <gtest/gtest.h>

#include "tokenizer/gguf_vocab.h"
#include "tokenizer/golden.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

constexpr const char* kText = "a b  \xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80 <0x41> end";

std::string Joined(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  std::string bytes;
  for (const TokenId id : ids) bytes += TokenBytes(tokenizer, id);
  return bytes;
}

std::unique_ptr<Tokenizer> ByteLevel() {
  const Json json = ParseJson(golden::ReadFile(golden::Folder() / "gguf_pre_vocab.json")).value();
  GgufVocab vocab;
  vocab.model = "gpt2";
  vocab.tokens = json["tokens"].get<std::vector<std::string>>();
  vocab.merges = json["merges"].get<std::vector<std::string>>();
  return MakeGgufTokenizer(std::move(vocab)).value();
}

TEST(TokenBytes, OfAllTokensAreTheText) {
  const auto tokenizer = ByteLevel();
  const auto ids = tokenizer->Encode(kText, false).value();
  EXPECT_EQ(Joined(*tokenizer, ids), kText);
  bool some_half = false;
  for (const TokenId id : ids) {
    const std::string bytes = TokenBytes(*tokenizer, id);
    some_half |= ValidUtf8Prefix(bytes) != bytes.size();
  }
  EXPECT_TRUE(some_half) << "no token was half a character";
}

TEST(TokenBytes, OfSentencePieceKeepTheSpaceThatATextWouldLose) {
  const auto tokenizer =
      Tokenizer::FromParts(
          *MakeSentencePieceParts(
              ParseSentencePieceModel(golden::ReadFile(golden::Folder() / "sp_bpe_bytes.model"))
                  .value()))
          .value();
  const std::string text = "a \xf0\x9f\x98\x80\xe6\x97\xa5";
  const auto ids = tokenizer->Encode(text, false).value();
  const std::string joined = Joined(*tokenizer, ids);
  EXPECT_TRUE(joined == text || joined == " " + text) << joined;
  EXPECT_EQ(TokenBytes(*tokenizer, *tokenizer->TokenToId("<0x41>")), "A");
}

TEST(TokenBytes, OfSpecialTokensAreTheirTextAndOfOthersNothing) {
  const auto tokenizer =
      Tokenizer::FromJson(golden::ReadFile(std::string(TONNAGE_SOURCE_DIR) +
                                           "/tests/golden/tiny_chat/tokenizer.json"))
          .value();
  EXPECT_EQ(TokenBytes(*tokenizer, 2), "</s>");
  EXPECT_EQ(TokenBytes(*tokenizer, 1 << 20), "");
  EXPECT_EQ(TokenBytes(*tokenizer, -1), "");
  for (TokenId id = 3; id < 256; ++id) EXPECT_EQ(TokenBytes(*tokenizer, id).size(), 1u) << id;
}

}  // namespace
}  // namespace tonnage
