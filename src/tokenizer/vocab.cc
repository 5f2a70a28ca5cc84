#include "tokenizer/vocab.h"

#include <algorithm>

#include "tokenizer/hash.h"

namespace tonnage {

Result<Vocab> Vocab::Make(const std::vector<std::pair<std::string, TokenId>>& tokens) {
  if (tokens.size() >= UINT32_MAX) return Unsupported("a vocabulary of {} tokens", tokens.size());
  Vocab vocab;
  vocab.slots_.resize(TableSize(tokens.size()));
  vocab.entries_.reserve(tokens.size());
  for (const auto& [token, id] : tokens) {
    if (id < 0) return Unreadable("token `{}` has the id {}, which is out of range", token, id);
    if (token.size() >= UINT32_MAX) return Unsupported("a token of {} bytes", token.size());
    std::uint32_t* slot = vocab.Slot(token);
    if (*slot != 0) {
      vocab.entries_[*slot - 1].id = id;
      continue;
    }
    vocab.entries_.push_back({vocab.text_.size(), static_cast<std::uint32_t>(token.size()), id});
    vocab.text_ += token;
    *slot = static_cast<std::uint32_t>(vocab.entries_.size());
    vocab.longest_bytes_ = std::max(vocab.longest_bytes_, token.size());
  }
  // Ids may be anything, so only so much memory is spent on a direct table.
  const std::size_t dense = 4 * vocab.entries_.size() + 1024;
  for (std::uint32_t i = 0; i < vocab.entries_.size(); ++i) {
    const TokenId id = vocab.entries_[i].id;
    vocab.max_id_ = std::max(vocab.max_id_, id);
    if (static_cast<std::size_t>(id) >= dense) {
      vocab.ids_are_distinct_ &= vocab.sparse_.emplace(id, 0).second;
      vocab.sparse_[id] = i + 1;
      continue;
    }
    if (vocab.by_id_.size() <= static_cast<std::size_t>(id)) vocab.by_id_.resize(id + 1);
    vocab.ids_are_distinct_ &= vocab.by_id_[id] == 0;
    vocab.by_id_[id] = i + 1;
  }
  return vocab;
}

std::uint32_t* Vocab::Slot(std::string_view token) {
  std::size_t at = HashBytes(token) & (slots_.size() - 1);
  while (slots_[at] != 0 && View(entries_[slots_[at] - 1]) != token) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return &slots_[at];
}

std::optional<TokenId> Vocab::Find(std::string_view token) const {
  if (token.size() > longest_bytes_ || slots_.empty()) return std::nullopt;
  const std::uint32_t entry = *const_cast<Vocab*>(this)->Slot(token);
  if (entry == 0) return std::nullopt;
  return entries_[entry - 1].id;
}

std::optional<std::string_view> Vocab::Token(TokenId id) const {
  std::uint32_t entry = 0;
  if (id >= 0 && static_cast<std::size_t>(id) < by_id_.size()) {
    entry = by_id_[id];
  } else if (const auto it = sparse_.find(id); it != sparse_.end()) {
    entry = it->second;
  }
  if (entry == 0) return std::nullopt;
  return View(entries_[entry - 1]);
}

}  // namespace tonnage
