#include "tokenizer/unigram.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tokenizer/byte_trie.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocab.h"

namespace tonnage {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score

struct UnigramState final : ModelState {
  // The best way to reach a byte of the text.
  struct Node {
    double score = 0;
    std::uint32_t begin = UINT32_MAX;  // where its last token starts; none yet
    TokenId id = -1;
  };
  std::vector<Node> best;
  std::vector<std::uint32_t> ends;  // of the tokens on the best path, last one first
};

class Unigram final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> Make(UnigramOptions options);

  Status Encode(std::span<const Piece> pieces, ModelState* state,
                std::vector<TokenId>& ids) const override {
    for (const Piece& piece : pieces) {
      RETURN_IF_ERROR(EncodeText(piece.text, static_cast<UnigramState&>(*state), ids));
    }
    return {};
  }
  std::unique_ptr<ModelState> NewState() const override { return std::make_unique<UnigramState>(); }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    return vocab_.Find(token);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override {
    if (id < 0 || static_cast<std::size_t>(id) >= options_.vocab.size()) return std::nullopt;
    return options_.vocab[id].first;
  }
  std::size_t vocab_size() const override { return options_.vocab.size(); }
  TokenId max_id() const override { return static_cast<TokenId>(options_.vocab.size()) - 1; }

 private:
  Status EncodeText(std::string_view text, UnigramState& state, std::vector<TokenId>& ids) const;
  Status FindBestPath(std::string_view text, UnigramState& state) const;
  Status Emit(std::string_view token, std::vector<TokenId>& ids) const;

  UnigramOptions options_;
  Vocab vocab_;
  ByteTrie trie_;
  double unknown_score_ = 0;
  std::array<TokenId, 256> byte_ids_{};
};

Result<std::unique_ptr<TokenModel>> Unigram::Make(UnigramOptions options) {
  auto unigram = std::make_unique<Unigram>();
  const auto size = static_cast<std::int64_t>(options.vocab.size());
  if (size >= INT32_MAX) return Unsupported("a vocabulary of {} tokens", size);
  if (options.unk_id && (*options.unk_id < 0 || *options.unk_id >= size)) {
    return Unreadable("unk_id {} is outside the vocabulary of {} tokens", *options.unk_id, size);
  }
  std::vector<std::pair<std::string, TokenId>> tokens;
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [token, score] : options.vocab) {
    tokens.emplace_back(token, static_cast<TokenId>(tokens.size()));
    lowest = std::min(lowest, score);
  }
  ASSIGN_OR_RETURN(unigram->vocab_, Vocab::Make(tokens));
  std::vector<ByteTrie::Entry> entries;
  unigram->vocab_.ForEach(
      [&](std::string_view token, TokenId id) { entries.emplace_back(token, id); });
  unigram->trie_ = ByteTrie(entries);
  unigram->unknown_score_ = lowest - kUnknownPenalty;
  for (int byte = 0; byte < 256; ++byte) {
    unigram->byte_ids_[byte] = unigram->vocab_.Find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
  unigram->options_ = std::move(options);
  return std::unique_ptr<TokenModel>(std::move(unigram));
}

Status Unigram::EncodeText(std::string_view text, UnigramState& state,
                           std::vector<TokenId>& ids) const {
  RETURN_IF_ERROR(FindBestPath(text, state));
  state.ends.clear();
  for (std::size_t end = text.size(); end > 0; end = state.best[end].begin) {
    state.ends.push_back(static_cast<std::uint32_t>(end));
  }
  // Unknown characters next to each other are one token.
  std::size_t begin = 0;
  for (std::size_t i = state.ends.size(); i-- > 0;) {
    const bool unknown = options_.unk_id && state.best[state.ends[i]].id == *options_.unk_id;
    const bool fuses = unknown && i > 0 && state.best[state.ends[i - 1]].id == *options_.unk_id;
    if (fuses) continue;
    RETURN_IF_ERROR(Emit(text.substr(begin, state.ends[i] - begin), ids));
    begin = state.ends[i];
  }
  return {};
}

Status Unigram::FindBestPath(std::string_view text, UnigramState& state) const {
  state.best.assign(text.size() + 1, {});
  for (std::size_t begin = 0; begin < text.size();) {
    const double here = state.best[begin].score;
    const std::size_t char_bytes = CharLength(text[begin]);
    const auto offer = [&](std::size_t end, double score, TokenId id) {
      UnigramState::Node& node = state.best[end];
      if (node.begin != UINT32_MAX && !(score > node.score)) return;
      node = {score, static_cast<std::uint32_t>(begin), id};
    };
    bool has_single = false;
    trie_.ForEachPrefix(text.substr(begin), [&](std::size_t length, TokenId id) {
      offer(begin + length, options_.vocab[id].second + here, id);
      has_single |= length == char_bytes;
    });
    if (!has_single) {
      const std::size_t end = begin + char_bytes;
      const UnigramState::Node& node_there = state.best[end];
      const double score = unknown_score_ + here;
      if (node_there.begin == UINT32_MAX || score > node_there.score) {
        if (!options_.unk_id) {
          return InvalidArgument("unknown character U+{:04X}, and the tokenizer has no unk_id",
                                 static_cast<std::uint32_t>(CharAt(text, begin)));
        }
        offer(end, score, *options_.unk_id);
      }
    }
    begin += char_bytes;
  }
  return {};
}

Status Unigram::Emit(std::string_view token, std::vector<TokenId>& ids) const {
  if (const std::optional<TokenId> id = vocab_.Find(token)) {
    ids.push_back(*id);
    return {};
  }
  const auto byte_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
  if (options_.byte_fallback &&
      std::all_of(token.begin(), token.end(), [&](char b) { return byte_id(b) >= 0; })) {
    for (const char byte : token) ids.push_back(byte_id(byte));
    return {};
  }
  ids.push_back(options_.unk_id.value_or(0));
  return {};
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeUnigram(UnigramOptions options) {
  return Unigram::Make(std::move(options));
}

}  // namespace tonnage
