// Unigram: the segmentation with the best sum of scores, found by one pass over the text (Viterbi).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/model.h"

namespace tonnage {

struct UnigramOptions {
  std::vector<std::pair<std::string, double>> vocab;  // token and score; the id is the place
  std::optional<TokenId> unk_id;  // without one, an unknown character is an error
  bool byte_fallback = false;
};

Result<std::unique_ptr<TokenModel>> MakeUnigram(UnigramOptions options);

}  // namespace tonnage
