#include "tokenizer/sentencepiece.h"

#include <gtest/gtest.h>

#include "tokenizer/golden.h"

namespace tonnage {
namespace {

class SentencePieceGolden : public testing::TestWithParam<const char*> {
 protected:
  static std::string Model() {
    return golden::ReadFile((golden::Folder() / GetParam()).string() + ".model");
  }
  static std::vector<golden::Row> Rows() {
    return golden::ReadRows((golden::Folder() / GetParam()).string() + ".jsonl");
  }
};

TEST_P(SentencePieceGolden, EncodesLikeTheReferenceLibrary) {
  auto vocab = ParseSentencePieceModel(Model());
  ASSERT_TRUE(vocab.ok()) << vocab.error().message();
  auto pieces = SentencePiece::Create(*std::move(vocab));
  ASSERT_TRUE(pieces.ok()) << pieces.error().message();
  WordMemory memory;
  for (const golden::Row& row : Rows()) {
    // Without a memory, with one, and out of it.
    for (WordMemory* used : {static_cast<WordMemory*>(nullptr), &memory, &memory}) {
      std::vector<int> ids;
      pieces->EncodeNormalized(pieces->Normalize(row.text), ids, used);
      EXPECT_EQ(ids, row.ids) << row.text;
    }
  }
}

TEST_P(SentencePieceGolden, DecodesLikeTheReferenceLibrary) {
  auto parts = MakeSentencePieceParts(ParseSentencePieceModel(Model()).value());
  ASSERT_TRUE(parts.ok()) << parts.error().message();
  auto tokenizer = Tokenizer::FromParts(*std::move(parts));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message();
  for (const golden::Row& row : Rows()) {
    EXPECT_EQ((*tokenizer)->Decode(row.ids, true).value(), row.decoded) << row.text;
  }
}

TEST_P(SentencePieceGolden, RefusesEveryTruncation) {
  const std::string whole = Model();
  std::size_t refused = 0, lengths = 0;
  for (std::size_t length = 0; length < whole.size(); length += 1 + length / 64) {
    auto vocab = ParseSentencePieceModel(std::string_view(whole).substr(0, length));
    // Between two fields a cut file is still a message, with fewer pieces.
    refused += !vocab.ok();
    ++lengths;
  }
  EXPECT_GT(refused, lengths / 2);
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceGolden,
                         testing::Values("sp_unigram", "sp_unigram_bytes", "sp_unigram_plain",
                                         "sp_unigram_fold", "sp_bpe", "sp_bpe_bytes",
                                         "sp_bpe_phrases", "sp_bpe_suffix"));

SentencePieceVocab Tiny() {
  SentencePieceVocab vocab;
  vocab.pieces = {{"<unk>", 0, VocabPieceType::kUnknown},
                  {"<s>", 0, VocabPieceType::kControl},
                  {"</s>", 0, VocabPieceType::kControl},
                  {"a", -1},
                  {"aa", -1.5}};
  vocab.add_dummy_prefix = false;
  return vocab;
}

std::string ErrorOf(SentencePieceVocab vocab) {
  auto pieces = SentencePiece::Create(std::move(vocab));
  return pieces.ok() ? "" : pieces.error().message();
}

TEST(SentencePiece, RefusesVocabulariesThatCannotRun) {
  EXPECT_EQ(ErrorOf(Tiny()), "");
  auto vocab = Tiny();
  vocab.pieces[3].text = "";
  EXPECT_EQ(ErrorOf(vocab), "piece 3 is empty");
  vocab = Tiny();
  vocab.pieces[3].text = "aa";
  EXPECT_EQ(ErrorOf(vocab), "piece 4, \"aa\", is there twice");
  vocab = Tiny();
  vocab.pieces[4].score = std::nanf("");
  EXPECT_EQ(ErrorOf(vocab), "piece 4, \"aa\", has the score nan");
  vocab = Tiny();
  vocab.byte_fallback = true;
  EXPECT_EQ(ErrorOf(vocab), "byte fallback, but no piece <0x00>");
  vocab = Tiny();
  vocab.unk_id = 5;
  EXPECT_NE(ErrorOf(vocab), "");
  vocab = Tiny();
  vocab.precompiled_charsmap = "abc";
  EXPECT_NE(ErrorOf(vocab), "");
}

TEST(SentencePiece, RefusesOtherKindsByName) {
  // trainer_spec { model_type: WORD }
  EXPECT_NE(ParseSentencePieceModel("\x12\x02\x18\x03").error().message().find("word"),
            std::string::npos);
}

TEST(SentencePiece, PrefixOnlyAtTheStartWhereTheConfigSaysSo) {
  auto vocab = Tiny();
  vocab.add_dummy_prefix = true;
  vocab.pieces.push_back({"\u2581", -1});
  for (const bool only : {false, true}) {
    vocab.dummy_prefix_at_start_only = only;
    auto tokenizer = Tokenizer::FromParts(MakeSentencePieceParts(vocab).value());
    ASSERT_TRUE(tokenizer.ok());
    EXPECT_EQ((*tokenizer)->Encode("a</s>a", false).value(),
              only ? (std::vector<int>{5, 3, 2, 3}) : (std::vector<int>{5, 3, 2, 5, 3}));
  }
}

TEST(SentencePiece, LongRunsCostNoMoreThanTheirLength) {
  const std::string text(1 << 20, 'a');
  for (const auto algorithm :
       {SentencePieceVocab::Algorithm::kBpe, SentencePieceVocab::Algorithm::kUnigram}) {
    auto vocab = Tiny();
    vocab.algorithm = algorithm;
    const auto pieces = SentencePiece::Create(vocab).value();
    std::vector<int> ids;
    pieces.EncodeNormalized(text, ids);
    EXPECT_EQ(ids.size(), text.size() / 2);
  }
}

}  // namespace
}  // namespace tonnage
