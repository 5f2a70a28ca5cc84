// WordPiece (greedy longest match from the left) and WordLevel (whole words only).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/model.h"

namespace tonnage {

struct WordPieceOptions {
  std::vector<std::pair<std::string, TokenId>> vocab;
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t max_input_chars_per_word = 100;  // longer words are unknown
};

// A word that cannot be cut, while the vocabulary lacks the unknown token, is an error of Encode.
Result<std::unique_ptr<TokenModel>> MakeWordPiece(WordPieceOptions options);
Result<std::unique_ptr<TokenModel>> MakeWordLevel(
    std::vector<std::pair<std::string, TokenId>> vocab, std::string unk_token);

}  // namespace tonnage
