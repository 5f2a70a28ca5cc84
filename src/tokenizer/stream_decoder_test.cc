#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "tokenizer/gguf_vocab.h"
#include "tokenizer/golden.h"
#include "tokenizer/plamo.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

std::unique_ptr<Tokenizer> Of(Result<TokenizerParts> parts) {
  EXPECT_TRUE(parts.ok()) << parts.error().message();
  return Tokenizer::FromParts(*std::move(parts)).value();
}

std::unique_ptr<Tokenizer> ByteLevel() {
  const Json json = ParseJson(golden::ReadFile(golden::Folder() / "gguf_pre_vocab.json")).value();
  GgufVocab vocab;
  vocab.model = "gpt2";
  vocab.tokens = json["tokens"].get<std::vector<std::string>>();
  vocab.merges = json["merges"].get<std::vector<std::string>>();
  return MakeGgufTokenizer(std::move(vocab)).value();
}

std::unique_ptr<Tokenizer> Bytes(const char* model) {
  return Of(MakeSentencePieceParts(
      ParseSentencePieceModel(golden::ReadFile(golden::Folder() / model)).value()));
}

// Hugging Face's way to decode the same kind of vocabulary.
std::unique_ptr<Tokenizer> Llama() {
  Json vocab = {{"<unk>", 0}, {"\u2581", 1}, {"a", 2}, {"\u2581b", 3}, {"\u65e5", 4}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = 5 + byte;
  const Json json = {
      {"model",
       {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}, {"byte_fallback", true}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
          {{"type", "ByteFallback"}},
          {{"type", "Fuse"}},
          {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}}};
  return Tokenizer::FromJson(DumpJson(json)).value();
}

std::vector<std::pair<std::string, std::unique_ptr<Tokenizer>>> All() {
  std::vector<std::pair<std::string, std::unique_ptr<Tokenizer>>> all;
  all.emplace_back("byte level", ByteLevel());
  all.emplace_back("bytes, bpe", Bytes("sp_bpe_bytes.model"));
  all.emplace_back("bytes, unigram", Bytes("sp_unigram_bytes.model"));
  all.emplace_back("llama", Llama());
  all.emplace_back(
      "plamo",
      Of(MakePlamoParts(
          ParsePlamoJsonl(golden::ReadFile(golden::Folder() / "plamo_rows.jsonl")).value())));
  return all;
}

TEST(StreamDecoder, GivesTheTextOfAllIdsInWholeCharacters) {
  std::mt19937 random(1);
  for (const auto& [name, tokenizer] : All()) {
    for (int round = 0; round < 300; ++round) {
      std::vector<TokenId> ids(random() % 24);
      for (TokenId& id : ids) id = static_cast<TokenId>(random() % (tokenizer->vocab_size() + 2));
      const bool skip_special = round % 2 == 0;
      StreamDecoder stream(*tokenizer, skip_special);
      std::string text;
      for (const TokenId id : ids) {
        ASSERT_TRUE(stream.Push(id, text).ok());
        ASSERT_EQ(ValidUtf8Prefix(text), text.size()) << name;
      }
      ASSERT_TRUE(stream.Finish(text).ok());
      EXPECT_EQ(text, tokenizer->Decode(ids, skip_special).value()) << name;
    }
  }
}

// The text of valid characters must come without replacements, and nothing final may wait for later
// tokens.
TEST(StreamDecoder, HoldsBackOnlyWhatLaterTokensComplete) {
  const std::string text = "a \u00e9b\u65e5\u672c \U0001f600\U0001f468\u200d\U0001f469 the end";
  for (const auto& [name, tokenizer] : All()) {
    const auto ids = tokenizer->Encode(text, false).value();
    StreamDecoder stream(*tokenizer);
    std::string out;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_TRUE(stream.Push(ids[i], out).ok());
      EXPECT_EQ(out.find("\ufffd"), std::string::npos) << name;
      // What the tokens so far decode to, up to the first character that is not whole, unless it
      // ends in byte tokens, whose meaning the next token may still change.
      std::string so_far = tokenizer->Decode(std::span(ids).first(i + 1), true).value();
      so_far.resize(std::min(so_far.find("\ufffd"), so_far.size()));
      const bool byte = tokenizer->IdToToken(ids[i])->starts_with("<0x");
      EXPECT_TRUE(byte || out == so_far) << name << ": " << out << " for " << so_far;
    }
    ASSERT_TRUE(stream.Finish(out).ok());
    EXPECT_EQ(out, tokenizer->Decode(ids, true).value()) << name;
  }
}

TEST(StreamDecoder, ATokenCostsItsOwnLength) {
  // Half a million tokens: any decoding from the start again would take hours.
  for (const auto& [name, tokenizer] : All()) {
    StreamDecoder stream(*tokenizer);
    std::string out;
    const auto ids = tokenizer->Encode("the house", false).value();
    for (int i = 0; i < 500'000; ++i) ASSERT_TRUE(stream.Push(ids[i % ids.size()], out).ok());
    ASSERT_TRUE(stream.Finish(out).ok());
    EXPECT_GE(out.size(), 500'000u) << name;
  }
}

TEST(StreamDecoder, SpecialTokensHaveTextOnlyWhenAskedFor) {
  const auto tokenizer = Bytes("sp_bpe_bytes.model");
  for (const bool skip : {true, false}) {
    StreamDecoder stream(*tokenizer, skip);
    std::string out;
    ASSERT_TRUE(stream.Push(1, out).ok());
    EXPECT_EQ(out, skip ? "" : "<s>");
  }
}

}  // namespace
}  // namespace tonnage
