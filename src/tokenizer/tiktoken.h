// tiktoken's rank files: a line is a token in base64 and its rank, which is its id. Encoding merges
// the neighbours whose joined bytes have the lowest rank, within each piece that a family's pattern
// cuts. Owns its tokens; const once made and safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

// Reads a rank file into {token's bytes, rank}; an error names the line.
Result<std::vector<std::pair<std::string, int>>> ParseTiktoken(std::string_view text);

// The pattern that cuts text into pieces, by the name of an encoding or a family (cl100k_base,
// o200k_base, gpt2, qwen, llama3, kimi-k2, ...). Unknown names are refused with the known ones.
Result<std::string_view> TiktokenPattern(std::string_view name);

class TiktokenRanks {
 public:
  TiktokenRanks() = default;
  TiktokenRanks(TiktokenRanks&&) = default;  // a copy's views would look into the original
  TiktokenRanks& operator=(TiktokenRanks&&) = default;
  // Refuses repeated tokens or ranks, and files without all 256 single bytes.
  static Result<TiktokenRanks> Create(std::vector<std::pair<std::string, int>> tokens);

  // Appends the ids of one piece.
  void EncodePiece(std::string_view piece, std::vector<int>& ids) const;
  const std::vector<std::pair<std::string, int>>& tokens() const { return tokens_; }

 private:
  int Rank(std::string_view bytes) const;  // or -1

  std::vector<std::pair<std::string, int>> tokens_;
  std::unordered_map<std::string_view, int> ranks_;
  std::size_t longest_bytes_ = 0;
};

// Pre-tokenizer by `pattern`, model and decoder. `special` are the tokens beside the ranks, by
// their ids.
Result<TokenizerParts> MakeTiktokenParts(std::vector<std::pair<std::string, int>> tokens,
                                         std::string_view pattern,
                                         std::vector<std::pair<std::string, TokenId>> special);

}  // namespace tonnage
