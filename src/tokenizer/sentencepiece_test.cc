#include "tokenizer/sentencepiece.h"

#include <gtest/gtest.h>

#include "tokenizer/golden.h"

namespace tonnage {
namespace {

class SentencePieceGolden : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceGolden, EncodesLikeTheReferenceLibrary) {
  const auto path = golden::Folder() / GetParam();
  auto vocab = ParseSentencePieceModel(golden::ReadFile(path.string() + ".model"));
  ASSERT_TRUE(vocab.ok()) << vocab.error().message();
  auto pieces = SentencePiece::Create(*std::move(vocab));
  ASSERT_TRUE(pieces.ok()) << pieces.error().message();
  for (const golden::Row& row : golden::ReadRows(path.string() + ".jsonl")) {
    std::vector<int> ids;
    pieces->EncodeNormalized(pieces->Normalize(row.text), ids);
    EXPECT_EQ(ids, row.ids) << GetParam() << ": " << row.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceGolden,
                         testing::Values("sp_unigram", "sp_unigram_bytes", "sp_unigram_plain",
                                         "sp_unigram_fold", "sp_bpe", "sp_bpe_bytes",
                                         "sp_bpe_phrases", "sp_bpe_suffix"));

}  // namespace
}  // namespace tonnage
