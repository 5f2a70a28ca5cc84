// Tokens that stand beside the model's vocabulary: found in the text before the model sees it,
// special ones left out when decoding. Immutable after Make; any thread may use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/byte_trie.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"

namespace tonnage {

struct AddedToken {
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = true;    // is looked for in the normalized text, itself normalized
  bool special = false;      // may be left out when decoding
};

// Finds added tokens in a text; at each place the longest one that matches counts.
class TokenFinder {
 public:
  TokenFinder() = default;
  // Empty patterns are left out; of equal ones the first counts.
  explicit TokenFinder(const std::vector<ByteTrie::Entry>& patterns);
  bool empty() const { return trie_.empty(); }

  struct Match {
    std::size_t begin, end;
    TokenId id;
  };
  // The leftmost match that starts at `from` or later.
  std::optional<Match> Find(std::string_view text, std::size_t from) const;

 private:
  ByteTrie trie_;
  bool starts_[256] = {};  // whether some pattern starts with that byte
};

class AddedVocabulary {
 public:
  // Ids are given as the reference gives them: the model's own where it knows the content, else the
  // next free one.
  static Result<AddedVocabulary> Make(std::vector<AddedToken> tokens, const TokenModel& model,
                                      const Normalizer* normalizer);

  // A stretch of text, or (id >= 0) an added token.
  struct Part {
    std::string_view text;
    std::size_t begin = 0;
    TokenId id = -1;
  };
  // The parts of a text before normalizing, and of a normalized one. None is empty.
  // Special tokens stay text where they are not to be parsed.
  std::vector<Part> SplitRaw(std::string_view text, bool parse_special) const {
    return Split(text, raw_, parse_special);
  }
  std::vector<Part> SplitNormalized(std::string_view text, bool parse_special) const {
    return Split(text, normalized_, parse_special);
  }

  std::optional<TokenId> TokenToId(std::string_view content) const;
  // For decoding: an added token that is looked for in normalized text has its normalized form
  // here.
  std::optional<std::string_view> IdToToken(TokenId id) const;
  std::optional<std::string_view> Content(TokenId id) const;
  // Whether decoding leaves the id out when asked to.
  bool IsSpecial(TokenId id) const;
  // How many contents the model does not know.
  std::size_t additional() const { return additional_; }
  TokenId max_id() const;

 private:
  struct Entry {
    AddedToken token;
    std::string decoded;
    bool skipped = false;
  };
  std::vector<Part> Split(std::string_view text, const TokenFinder& finder,
                          bool parse_special) const;

  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_map<TokenId, Entry> entries_;
  std::vector<TokenId> special_model_ids_;
  std::size_t additional_ = 0;
  TokenFinder raw_, normalized_;
};

}  // namespace tonnage
