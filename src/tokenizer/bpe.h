// Byte-pair encoding: a word is cut into characters (or bytes), and the pair of neighbours whose
// merge ranks first is merged until no pair has a merge. Words are remembered in a bounded cache of
// the calling thread's state; long words cost n log n.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/model.h"

namespace tonnage {

struct BpeOptions {
  std::vector<std::pair<std::string, TokenId>> vocab;
  std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
  std::optional<std::string> unk_token;  // without one, unknown characters vanish
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback =
      false;  // unknown characters become tokens <0x00> to <0xFF> where all of theirs exist
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
};

// Refuses merges whose parts or results are not in the vocabulary, and ids that are negative.
Result<std::unique_ptr<TokenModel>> MakeBpe(BpeOptions options);

}  // namespace tonnage
