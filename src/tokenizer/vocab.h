// Tokens and their ids, both ways. Immutable after Make; any thread may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/model.h"

namespace tonnage {

class Vocab {
 public:
  // The last of equal tokens counts, and for decoding the last of equal ids. Negative ids are
  // refused.
  static Result<Vocab> Make(const std::vector<std::pair<std::string, TokenId>>& tokens);

  std::optional<TokenId> Find(std::string_view token) const;
  std::optional<std::string_view> Token(TokenId id) const;
  // Distinct tokens.
  std::size_t size() const { return entries_.size(); }
  TokenId max_id() const { return max_id_; }
  // Whether no two tokens have the same id.
  bool ids_are_distinct() const { return ids_are_distinct_; }
  std::size_t longest_bytes() const { return longest_bytes_; }

  // Calls visit(token, id) for every distinct token.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(View(entry), entry.id);
  }

 private:
  struct Entry {
    std::size_t offset;
    std::uint32_t length;
    TokenId id;
  };
  std::string_view View(const Entry& entry) const {
    return std::string_view(text_).substr(entry.offset, entry.length);
  }
  std::uint32_t* Slot(std::string_view token);

  std::string text_;  // all tokens, one after another
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // open addressing; entry + 1, or 0
  std::vector<std::uint32_t> by_id_;  // entry + 1, or 0; ids beyond it are in sparse_
  std::unordered_map<TokenId, std::uint32_t> sparse_;
  TokenId max_id_ = -1;
  bool ids_are_distinct_ = true;
  std::size_t longest_bytes_ = 0;
};

}  // namespace tonnage
