#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <unordered_set>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

bool IsWordChar(char32_t c) { return CharClasses::Get()[c] & kRustWord; }

bool IsSpaceChar(char32_t c) { return CharClasses::Get()[c] & kRustSpace; }

}  // namespace

TokenFinder::TokenFinder(const std::vector<ByteTrie::Entry>& patterns) {
  std::unordered_set<std::string_view> known;
  std::vector<ByteTrie::Entry> entries;
  for (const ByteTrie::Entry& entry : patterns) {
    const std::string_view pattern = entry.first;
    if (pattern.empty() || !known.insert(pattern).second) continue;
    entries.push_back(entry);
    starts_[static_cast<unsigned char>(pattern[0])] = true;
  }
  trie_ = ByteTrie(entries);
}

std::optional<TokenFinder::Match> TokenFinder::Find(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    Match longest{begin, begin, -1};
    trie_.ForEachPrefix(text.substr(begin), [&](std::size_t length, TokenId id) {
      longest = {begin, begin + length, id};
    });
    if (longest.id >= 0) return longest;
  }
  return std::nullopt;
}

Result<AddedVocabulary> AddedVocabulary::Make(std::vector<AddedToken> tokens,
                                              const TokenModel& model,
                                              const Normalizer* normalizer) {
  AddedVocabulary added;
  auto next = static_cast<TokenId>(model.vocab_size());
  std::unordered_set<std::string> specials;
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    std::optional<TokenId> id = added.TokenToId(token.content);
    if (!id) id = model.TokenToId(token.content);
    if (!id) {
      if (next == INT32_MAX) return Unsupported("more tokens than ids");
      id = next++;
      ++added.additional_;
    }
    Entry entry;
    entry.decoded = token.content;
    if (token.normalized && normalizer != nullptr) {
      Text text(token.content);
      RETURN_IF_ERROR(normalizer->Normalize(text));
      entry.decoded = text.view();
    }
    added.ids_[token.content] = *id;
    if (token.special) specials.insert(token.content);
    entry.token = std::move(token);
    added.entries_[*id] = std::move(entry);
  }
  // In the order of ids: where normalizing makes two tokens the same text, the reference finds
  // either one, by chance; here it is the first.
  std::vector<TokenId> order;
  for (const auto& [id, entry] : added.entries_) order.push_back(id);
  std::sort(order.begin(), order.end());
  std::vector<ByteTrie::Entry> raw, normalized;
  for (const TokenId id : order) {
    Entry& entry = added.entries_[id];
    entry.skipped = specials.contains(entry.decoded);
    (entry.token.normalized ? normalized : raw).emplace_back(entry.decoded, id);
  }
  added.raw_ = TokenFinder(raw);
  added.normalized_ = TokenFinder(normalized);
  for (const std::string& special : specials) {
    const std::optional<TokenId> id = model.TokenToId(special);
    if (id && !added.entries_.contains(*id)) added.special_model_ids_.push_back(*id);
  }
  return added;
}

std::vector<AddedVocabulary::Part> AddedVocabulary::Split(std::string_view text,
                                                          const TokenFinder& finder,
                                                          bool parse_special) const {
  std::vector<Part> parts;
  std::size_t done = 0;
  std::size_t from = 0;
  while (!finder.empty()) {
    const std::optional<TokenFinder::Match> match = finder.Find(text, from);
    if (!match) break;
    from = match->end;
    const AddedToken& token = entries_.at(match->id).token;
    if (token.special && !parse_special) continue;
    std::size_t begin = match->begin, end = match->end;
    if (token.single_word) {
      if (begin > 0 && IsWordChar(CharAt(text, PreviousChar(text, begin)))) continue;
      if (end < text.size() && IsWordChar(CharAt(text, end))) continue;
    }
    if (token.lstrip) {
      while (begin > done && IsSpaceChar(CharAt(text, PreviousChar(text, begin)))) {
        begin = PreviousChar(text, begin);
      }
      begin = std::max(begin, done);  // white space that the token before has taken stays with it
    }
    while (token.rstrip && end < text.size() && IsSpaceChar(CharAt(text, end))) {
      end += CharLength(text[end]);
    }
    if (done < begin) parts.push_back({text.substr(done, begin - done), done, -1});
    if (begin < end) parts.push_back({text.substr(begin, end - begin), begin, match->id});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), done, -1});
  return parts;
}

std::optional<TokenId> AddedVocabulary::TokenToId(std::string_view content) const {
  const auto it = ids_.find(std::string(content));
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

std::optional<std::string_view> AddedVocabulary::IdToToken(TokenId id) const {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return std::nullopt;
  return it->second.decoded;
}

std::optional<std::string_view> AddedVocabulary::Content(TokenId id) const {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return std::nullopt;
  return it->second.token.content;
}

bool AddedVocabulary::IsSpecial(TokenId id) const {
  if (const auto it = entries_.find(id); it != entries_.end()) return it->second.skipped;
  return std::find(special_model_ids_.begin(), special_model_ids_.end(), id) !=
         special_model_ids_.end();
}

TokenId AddedVocabulary::max_id() const {
  TokenId max = -1;
  for (const auto& [id, entry] : entries_) max = std::max(max, id);
  return max;
}

}  // namespace tonnage
