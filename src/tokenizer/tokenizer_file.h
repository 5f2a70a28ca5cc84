// A tokenizer.json, taken apart: the vocabulary and the merges, which may be hundreds of thousands
// of entries, go straight into lists; everything else is kept as JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/model.h"

namespace tonnage {

struct TokenizerFile {
  Json rest;  // without the lists below
  bool has_vocab = false, has_merges = false;
  std::vector<std::pair<std::string, TokenId>> vocab;        // model.vocab as an object
  std::vector<std::pair<std::string, double>> scored_vocab;  // or as a list of [token, score]
  std::vector<std::pair<std::string, std::string>> merges;   // model.merges, in either notation
};

// Malformed JSON, ids that are no ids and merges that are no pairs are errors that say where.
Result<TokenizerFile> ReadTokenizerFile(std::string_view text);

}  // namespace tonnage
