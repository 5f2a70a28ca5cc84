#include "tokenizer/gguf_vocab.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tokenizer/gguf_pre.h"
#include "tokenizer/golden.h"
#include "tokenizer/sentencepiece.h"

namespace tonnage {
namespace {

using Ids = std::vector<TokenId>;

std::unique_ptr<Tokenizer> Make(GgufVocab vocab) {
  auto tokenizer = MakeGgufTokenizer(std::move(vocab));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message();
  return *std::move(tokenizer);
}

std::string ErrorOf(GgufVocab vocab) {
  auto tokenizer = MakeGgufTokenizer(std::move(vocab));
  return tokenizer.ok() ? "" : tokenizer.error().message();
}

GgufVocab BytePairVocab(std::string pre) {
  const Json json = ParseJson(golden::ReadFile(golden::Folder() / "gguf_pre_vocab.json")).value();
  GgufVocab vocab;
  vocab.model = "gpt2";
  vocab.pre = std::move(pre);
  vocab.tokens = json["tokens"].get<std::vector<std::string>>();
  vocab.merges = json["merges"].get<std::vector<std::string>>();
  return vocab;
}

TEST(GgufVocab, EveryPreTokenizerCutsLikeLlamaCpp) {
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers;
  std::istringstream lines(golden::ReadFile(golden::Folder() / "gguf_pre.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json row = ParseJson(line).value();
    const auto pre = row["pre"].get<std::string>();
    auto& tokenizer = tokenizers[pre];
    if (tokenizer == nullptr) tokenizer = Make(BytePairVocab(pre));
    const auto text = row["text"].get<std::string>();
    EXPECT_EQ(tokenizer->Encode(text, false).value(), row["ids"].get<Ids>()) << pre << ": " << text;
  }
  EXPECT_GT(tokenizers.size(), 80u);
}

TEST(GgufVocab, DigitsInThreesFromTheRight) {
  // Every pair of digits merges, so a token shows each piece.
  GgufVocab vocab = BytePairVocab("superbpe");
  vocab.merges.clear();
  for (const char* merge : {"1 1", "11 1", "111 1", "1111 1", "11111 1", "111111 1"}) {
    vocab.merges.push_back(merge);
    vocab.tokens.push_back(std::string(merge).erase(std::string(merge).find(' '), 1));
  }
  for (const char* pre : {"superbpe", "afmoe", "tiny_aya"}) {
    vocab.pre = pre;
    const auto tokenizer = Make(vocab);
    const auto ids = tokenizer->Encode("1111111", false).value();
    std::string pieces;
    for (const TokenId id : ids) pieces += *tokenizer->IdToToken(id) + " ";
    EXPECT_EQ(pieces, "1 111 111 ") << pre;
  }
}

// The golden model of SentencePiece's byte-pair kind, as a GGUF file would have it.
GgufVocab SentencePieceAsGguf(const char* name) {
  const auto path = (golden::Folder() / name).string() + ".model";
  const SentencePieceVocab pieces = ParseSentencePieceModel(golden::ReadFile(path)).value();
  GgufVocab vocab;
  vocab.model = pieces.algorithm == SentencePieceVocab::Algorithm::kBpe ? "llama" : "t5";
  for (const VocabPiece& piece : pieces.pieces) {
    vocab.tokens.push_back(piece.text);
    vocab.scores.push_back(piece.score);
    vocab.types.push_back(static_cast<int>(piece.type));
  }
  vocab.precompiled_charsmap = pieces.precompiled_charsmap;
  vocab.add_space_prefix = pieces.add_dummy_prefix;
  vocab.remove_extra_whitespaces = pieces.remove_extra_whitespaces;
  vocab.unk_id = pieces.unk_id;
  vocab.bos_id = pieces.bos_id;
  vocab.eos_id = pieces.eos_id;
  return vocab;
}

TEST(GgufVocab, SentencePieceKindsEncodeLikeTheirModels) {
  for (const char* name : {"sp_bpe_bytes", "sp_unigram"}) {
    const auto tokenizer = Make(SentencePieceAsGguf(name));
    for (const golden::Row& row : golden::ReadRows((golden::Folder() / name).string() + ".jsonl")) {
      if (row.text.find('<') != std::string::npos) continue;  // special tokens are cut out first
      EXPECT_EQ(tokenizer->Encode(row.text, false).value(), row.ids) << name << ": " << row.text;
    }
  }
}

TEST(GgufVocab, SpecialTokensAreFoundInTheText) {
  const auto tokenizer = Make(SentencePieceAsGguf("sp_bpe_bytes"));
  const Ids ids = tokenizer->Encode("the</s>the<user>", true).value();
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[0], 1);       // bos, as the kind wants it
  EXPECT_EQ(ids[1], ids[3]);  // a space stands before text after a special token too
  EXPECT_EQ(ids[2], 2);
  EXPECT_EQ(tokenizer->Decode(ids, true).value(), "the the<user>");
  // What a user writes need not become a special token; those that a vocabulary defines for text
  // remain.
  const Ids plain = tokenizer->Encode("</s><user>", false, /*parse_special=*/false).value();
  EXPECT_EQ(std::find(plain.begin(), plain.end(), 2), plain.end());
  EXPECT_EQ(plain.back(), ids[4]);
  EXPECT_EQ(tokenizer->Decode(ids, false).value(), "<s> the</s> the<user>");
}

TEST(GgufVocab, WordPiece) {
  GgufVocab vocab;
  vocab.model = "bert";
  vocab.tokens = {"[PAD]", "[UNK]",       "[CLS]",   "[SEP]",       "\u2581hell",
                  "o",     "\u2581world", "\u2581!", "\u2581\u4e2d"};
  vocab.types = {3, 2, 3, 3, 1, 1, 1, 1, 1};
  vocab.unk_id = 1;
  vocab.cls_id = 2;
  vocab.sep_id = 3;
  const auto tokenizer = Make(vocab);
  EXPECT_EQ(tokenizer->Encode("Hell\u00f4  WORLD!\u4e2d x", true).value(),
            (Ids{2, 4, 5, 6, 7, 8, 1, 3}));
  EXPECT_EQ(tokenizer->Decode(Ids{2, 4, 5, 6, 7, 3}, true).value(), "hello world!");
  vocab.lowercase = false;
  EXPECT_EQ(Make(vocab)->Encode("Hello hello", false).value(), (Ids{1, 4, 5}));
}

TEST(GgufVocab, RwkvTakesTheLongestToken) {
  GgufVocab vocab;
  vocab.model = "rwkv";
  vocab.tokens = {"<|rwkv_tokenizer_end_of_text|>"};
  for (int byte = 0; byte < 256; ++byte) vocab.tokens.push_back(fmt::format("\\x{:02x}", byte));
  vocab.tokens.insert(vocab.tokens.end(), {"ab", "abc", "\\n\\n", "\\\\", "\xc3\xa9"});
  const auto tokenizer = Make(vocab);
  const Ids ids = tokenizer->Encode("abcab\n\n\\\u00e9\xc3", false).value();
  EXPECT_EQ((Ids{ids.begin(), ids.begin() + 5}), (Ids{258, 257, 259, 260, 261}));
  EXPECT_EQ(tokenizer->Decode(ids, true).value(), "abcab\n\n\\\u00e9\ufffd");
}

TEST(GgufVocab, BosAndEosAsTheFileSays) {
  GgufVocab vocab = BytePairVocab("llama-bpe");
  vocab.tokens.insert(vocab.tokens.end(), {"<|begin|>", "<|eot_id|>"});
  const auto begin = static_cast<TokenId>(vocab.tokens.size()) - 2, end = begin + 1;
  EXPECT_EQ(Make(vocab)->Encode("", true).value(), Ids{});  // no bos is named
  vocab.bos_id = begin;
  EXPECT_EQ(Make(vocab)->Encode("", true).value(), Ids{begin});
  vocab.add_bos = false;
  vocab.add_eos = true;
  vocab.eos_id = end;
  EXPECT_EQ(Make(vocab)->Encode("", true).value(), Ids{end});
  vocab.eos_id = 1 << 20;
  EXPECT_NE(ErrorOf(vocab).find("add_eos_token"), std::string::npos);
}

TEST(GgufVocab, EndIdsAreTheFilesAndTheWellKnown) {
  GgufVocab vocab = BytePairVocab("gpt-2");
  const auto size = static_cast<TokenId>(vocab.tokens.size());
  vocab.tokens.insert(vocab.tokens.end(), {"<|end|>", "<|im_end|>", "<|call|>"});
  vocab.eos_id = 7;
  vocab.eot_id = -3;
  EXPECT_EQ(GgufEndIds(vocab), (Ids{7, size, size + 1, size + 2}));
  vocab.tokens.push_back("<|return|>");  // now <|end|> only ends a message
  EXPECT_EQ(GgufEndIds(vocab), (Ids{7, size + 1, size + 2, size + 3}));
}

TEST(GgufVocab, RefusesWhatItCannotRun) {
  GgufVocab vocab = BytePairVocab("gpt-2");
  EXPECT_NE(ErrorOf({}).find("tokens"), std::string::npos);
  vocab.pre = "unheard-of";
  EXPECT_NE(ErrorOf(vocab).find("unheard-of"), std::string::npos);
  vocab.pre = "gpt-2";
  vocab.model = "hybriddna";
  EXPECT_NE(ErrorOf(vocab).find("hybriddna"), std::string::npos);
  vocab.model = "gpt2";
  vocab.types = {1, 2, 3};
  EXPECT_NE(ErrorOf(vocab).find("token_type"), std::string::npos);
  vocab.types.clear();
  vocab.tokens.push_back("\xf8");
  EXPECT_NE(ErrorOf(vocab).find("UTF-8"), std::string::npos);
  vocab.tokens.pop_back();
  vocab.merges.clear();
  EXPECT_NE(ErrorOf(vocab).find("merges"), std::string::npos);
  vocab.model = "llama";
  vocab.scores.assign(vocab.tokens.size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(ErrorOf(vocab).find("score"), std::string::npos);
}

TEST(GgufVocab, MergesThatLeadNowhereAreHarmless) {
  GgufVocab vocab = BytePairVocab("gpt-2");
  const Ids before = Make(vocab)->Encode("the ab", false).value();
  vocab.merges.insert(vocab.merges.begin(), {"", " ", "a", "a  b", "no such", "a b c"});
  EXPECT_EQ(Make(vocab)->Encode("the ab", false).value(), before);
}

TEST(GgufPre, EveryNameIsThereOnce) {
  std::map<std::string, int> names;
  for (const GgufPreTokenizer& row : GgufPreTokenizers()) {
    std::istringstream words{std::string(row.names)};
    for (std::string name; words >> name;) {
      EXPECT_EQ(++names[name], 1) << name;
      EXPECT_TRUE(FindGgufPreTokenizer(name).ok()) << name;
    }
    EXPECT_TRUE(MakeCutSteps(row).ok()) << row.names;
  }
  EXPECT_FALSE(FindGgufPreTokenizer("gpt-2 phi-2").ok());
}

}  // namespace
}  // namespace tonnage
