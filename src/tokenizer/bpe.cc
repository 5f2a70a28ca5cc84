#include "tokenizer/bpe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/hash.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocab.h"

namespace tonnage {
namespace {

constexpr std::uint32_t kNoMerge = UINT32_MAX;

struct Merge {
  std::uint32_t rank = kNoMerge;
  TokenId id = -1;
};

// (left, right) -> merge, in open addressing.
class MergeTable {
 public:
  void Reserve(std::size_t count) { slots_.resize(TableSize(count)); }
  // A later merge of the same pair replaces the earlier one.
  void Set(TokenId left, TokenId right, Merge merge) {
    const std::uint64_t key = Key(left, right);
    std::size_t at = Start(key);
    while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, merge};
  }
  Merge Find(TokenId left, TokenId right) const {
    const std::uint64_t key = Key(left, right);
    for (std::size_t at = Start(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return slots_[at].merge;
      if (slots_[at].key == kEmpty) return {};
    }
  }

 private:
  static constexpr std::uint64_t kEmpty =
      UINT64_MAX;  // no pair of ids has this key: ids are not negative
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static std::uint64_t Key(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t Start(std::uint64_t key) const { return MixBits(key) & (slots_.size() - 1); }

  std::vector<Slot> slots_;
};

// Character -> token of just that character, in pages.
class CharTable {
 public:
  void Set(char32_t c, TokenId id) {
    if (pages_.empty()) pages_.emplace_back().fill(-1);
    std::uint16_t& page = index_[c >> 8];
    if (page == 0) {
      page = static_cast<std::uint16_t>(pages_.size());
      pages_.emplace_back().fill(-1);
    }
    pages_[page][c & 0xFF] = id;
  }
  TokenId Find(char32_t c) const { return pages_.empty() ? -1 : pages_[index_[c >> 8]][c & 0xFF]; }

 private:
  std::array<std::uint16_t, 0x1100> index_{};
  std::vector<std::array<TokenId, 256>>
      pages_;  // the first one is for characters that have no token
};

// Pairs of neighbouring characters that some merge may join. May say yes without cause, never no.
class JoinFilter {
 public:
  void Add(char32_t left, char32_t right) {
    const std::size_t bit = Bit(left, right);
    bits_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  bool MayJoin(char32_t left, char32_t right) const {
    const std::size_t bit = Bit(left, right);
    return bits_[bit / 64] >> bit % 64 & 1;
  }

 private:
  static constexpr int kBits = 22;
  static std::size_t Bit(char32_t left, char32_t right) {
    return (static_cast<std::uint64_t>(left) << 21 | right) * 0x9E3779B97F4A7C15u >> (64 - kBits);
  }
  std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>((1u << kBits) / 64);
};

// A word and its ids in one cache line; longer ones are not remembered.
struct alignas(64) CacheEntry {
  static constexpr std::size_t kWordBytes = 22;
  static constexpr std::size_t kIds = 10;
  std::uint8_t word_bytes = 0;
  std::uint8_t count = 0;
  char word[kWordBytes];
  TokenId ids[kIds];
};
static_assert(sizeof(CacheEntry) == 64);

struct BpeState final : ModelState {
  static constexpr std::size_t kEntries = 1 << 13;
  std::vector<CacheEntry> cache = std::vector<CacheEntry>(kEntries);
  std::vector<TokenId> symbols;
  // Of a long word: neighbours by place, and the merges to try, the best one on top.
  std::vector<std::uint32_t> previous, next;
  std::vector<std::uint64_t> heap;  // rank, then place
};

class Bpe final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> Make(BpeOptions options);

  Status Encode(std::span<const Piece> pieces, ModelState* state,
                std::vector<TokenId>& ids) const override;
  std::unique_ptr<ModelState> NewState() const override { return std::make_unique<BpeState>(); }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    return vocab_.Find(token);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override { return vocab_.Token(id); }
  std::size_t vocab_size() const override { return vocab_.size(); }
  TokenId max_id() const override { return vocab_.max_id(); }
  bool UseRawBytes() override;

 private:
  Status AddMerges();
  void FindJoins();
  Status EncodeWord(std::string_view word, BpeState& state, std::vector<TokenId>& ids) const;
  Status EncodeNewWord(std::string_view word, BpeState& state, std::vector<TokenId>& ids) const;
  Status CutIntoSymbols(std::string_view word, std::vector<TokenId>& symbols) const;
  void MergeShort(std::vector<TokenId>& symbols) const;
  void MergeLong(BpeState& state) const;

  BpeOptions options_;  // its vocabulary and merges are empty here
  Vocab vocab_;
  MergeTable merges_;
  CharTable chars_;
  std::array<TokenId, 256> byte_ids_{};  // tokens of bytes: raw ones, or <0x..>; -1: none
  bool all_bytes_ = false;
  bool decorated_ = false;  // a prefix or suffix changes what characters look like
  bool raw_bytes_ = false;
  Vocab raw_vocab_;  // whole words as bytes, for ignore_merges over raw bytes
  bool cuts_ = false;
  JoinFilter joins_;
};

Result<std::unique_ptr<TokenModel>> Bpe::Make(BpeOptions options) {
  auto bpe = std::make_unique<Bpe>();
  ASSIGN_OR_RETURN(bpe->vocab_, Vocab::Make(options.vocab));
  options.vocab = {};
  bpe->options_ = std::move(options);
  bpe->decorated_ =
      !bpe->options_.continuing_subword_prefix.empty() || !bpe->options_.end_of_word_suffix.empty();
  bpe->vocab_.ForEach([&](std::string_view token, TokenId id) {
    if (!token.empty() && CharLength(token[0]) == token.size())
      bpe->chars_.Set(CharAt(token, 0), id);
  });
  bpe->all_bytes_ = true;
  for (int byte = 0; byte < 256; ++byte) {
    bpe->byte_ids_[byte] = bpe->vocab_.Find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
    bpe->all_bytes_ &= bpe->byte_ids_[byte] >= 0;
  }
  RETURN_IF_ERROR(bpe->AddMerges());
  bpe->FindJoins();
  bpe->options_.merges = {};
  return std::unique_ptr<TokenModel>(std::move(bpe));
}

Status Bpe::AddMerges() {
  const std::size_t prefix = options_.continuing_subword_prefix.size();
  if (options_.merges.size() >= kNoMerge) return Unsupported("{} merges", options_.merges.size());
  merges_.Reserve(options_.merges.size());
  std::string joined;
  std::uint32_t rank = 0;
  for (const auto& [left, right] : options_.merges) {
    const std::optional<TokenId> left_id = vocab_.Find(left);
    const std::optional<TokenId> right_id = vocab_.Find(right);
    if (!left_id || !right_id) {
      return Unreadable("merge {}: token `{}` is not in the vocabulary", rank,
                        left_id ? right : left);
    }
    if (right.size() < prefix) {
      return Unreadable("merge {}: `{}` is shorter than continuing_subword_prefix", rank, right);
    }
    joined.assign(left).append(right, prefix);
    const std::optional<TokenId> id = vocab_.Find(joined);
    if (!id) return Unreadable("merge {}: its result `{}` is not in the vocabulary", rank, joined);
    merges_.Set(*left_id, *right_id, {rank++, *id});
  }
  return {};
}

// A text can be cut wherever no merge joins the characters on both sides, and the parts encoded on
// their own. That holds as long as every character is a symbol by itself, so not where characters
// may vanish or fuse, and not where merges reach the tokens of bytes.
void Bpe::FindJoins() {
  cuts_ = !decorated_ && options_.byte_fallback && all_bytes_ && !options_.ignore_merges;
  if (!cuts_) return;
  const auto is_byte = [&](std::string_view token) {
    return token.size() == 6 && token.starts_with("<0x") && token.back() == '>';
  };
  for (const auto& [left, right] : options_.merges) {
    if (left.empty() || right.empty() || is_byte(left) || is_byte(right) || is_byte(left + right)) {
      cuts_ = false;
      return;
    }
    joins_.Add(CharAt(left, PreviousChar(left, left.size())), CharAt(right, 0));
  }
}

bool Bpe::UseRawBytes() {
  if (decorated_) return false;
  std::array<TokenId, 256> ids;
  for (int byte = 0; byte < 256; ++byte) {
    ids[byte] = chars_.Find(ByteToChar(static_cast<unsigned char>(byte)));
    if (ids[byte] < 0) return false;
  }
  if (options_.ignore_merges) {
    std::vector<std::pair<std::string, TokenId>> words;
    vocab_.ForEach([&](std::string_view token, TokenId id) {
      if (std::optional<std::string> bytes = FromByteAlphabet(token)) {
        words.emplace_back(*std::move(bytes), id);
      }
    });
    Result<Vocab> raw = Vocab::Make(words);
    if (!raw.ok()) return false;
    raw_vocab_ = std::move(raw).value();
  }
  byte_ids_ = ids;
  raw_bytes_ = true;
  cuts_ = false;
  return true;
}

Status Bpe::Encode(std::span<const Piece> pieces, ModelState* state,
                   std::vector<TokenId>& ids) const {
  auto& own = static_cast<BpeState&>(*state);
  for (const Piece& piece : pieces) {
    std::string_view text = piece.text;
    if (cuts_) {
      std::size_t pos = 0, start = 0;
      char32_t left = NextChar(text, pos);
      while (pos < text.size()) {
        const std::size_t here = pos;
        const char32_t right = NextChar(text, pos);
        if (!joins_.MayJoin(left, right)) {
          RETURN_IF_ERROR(EncodeWord(text.substr(start, here - start), own, ids));
          start = here;
        }
        left = right;
      }
      text.remove_prefix(start);
    }
    RETURN_IF_ERROR(EncodeWord(text, own, ids));
  }
  return {};
}

Status Bpe::EncodeWord(std::string_view word, BpeState& state, std::vector<TokenId>& ids) const {
  if (word.size() > CacheEntry::kWordBytes) return EncodeNewWord(word, state, ids);
  CacheEntry& entry = state.cache[HashBytes(word) & (BpeState::kEntries - 1)];
  if (entry.word_bytes == word.size() && std::memcmp(entry.word, word.data(), word.size()) == 0) {
    ids.insert(ids.end(), entry.ids, entry.ids + entry.count);
    return {};
  }
  const std::size_t first = ids.size();
  RETURN_IF_ERROR(EncodeNewWord(word, state, ids));
  const std::size_t count = ids.size() - first;
  if (count <= CacheEntry::kIds) {
    entry.word_bytes = static_cast<std::uint8_t>(word.size());
    entry.count = static_cast<std::uint8_t>(count);
    std::memcpy(entry.word, word.data(), word.size());
    std::copy_n(ids.begin() + first, count, entry.ids);
  }
  return {};
}

Status Bpe::EncodeNewWord(std::string_view word, BpeState& state, std::vector<TokenId>& ids) const {
  if (options_.ignore_merges) {
    if (const auto id = raw_bytes_ ? raw_vocab_.Find(word) : vocab_.Find(word)) {
      ids.push_back(*id);
      return {};
    }
  }
  state.symbols.clear();
  if (raw_bytes_) {
    for (const char byte : word) {
      state.symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    }
  } else {
    RETURN_IF_ERROR(CutIntoSymbols(word, state.symbols));
  }
  constexpr std::size_t kShort = 48;  // below it, scanning beats keeping a heap
  if (state.symbols.size() <= kShort) {
    MergeShort(state.symbols);
  } else {
    MergeLong(state);
  }
  ids.insert(ids.end(), state.symbols.begin(), state.symbols.end());
  return {};
}

Status Bpe::CutIntoSymbols(std::string_view word, std::vector<TokenId>& symbols) const {
  TokenId unknown = -1;  // an unknown token that waits for others to fuse with
  std::string written;
  for (std::size_t pos = 0; pos < word.size();) {
    const std::size_t begin = pos;
    const char32_t c = NextChar(word, pos);
    std::string_view symbol = word.substr(begin, pos - begin);
    std::optional<TokenId> id;
    if (decorated_) {
      written.clear();
      if (begin > 0) written += options_.continuing_subword_prefix;
      written += symbol;
      if (pos == word.size()) written += options_.end_of_word_suffix;
      symbol = written;
      id = vocab_.Find(symbol);
    } else if (const TokenId found = chars_.Find(c); found >= 0) {
      id = found;
    }
    if (id) {
      if (unknown >= 0) symbols.push_back(std::exchange(unknown, -1));
      symbols.push_back(*id);
      continue;
    }
    const auto byte_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (options_.byte_fallback &&
        std::all_of(symbol.begin(), symbol.end(), [&](char b) { return byte_id(b) >= 0; })) {
      // An unknown token that waits keeps waiting, so it comes after these bytes, as in the
      // reference.
      for (const char byte : symbol) symbols.push_back(byte_id(byte));
      continue;
    }
    if (!options_.unk_token) continue;
    if (unknown >= 0 && options_.fuse_unk) continue;
    if (unknown >= 0) symbols.push_back(unknown);
    const std::optional<TokenId> unk = vocab_.Find(*options_.unk_token);
    if (!unk) {
      return InvalidArgument(
          "unknown character U+{:04X}, and the unknown token `{}` is not in the vocabulary",
          static_cast<std::uint32_t>(c), *options_.unk_token);
    }
    unknown = *unk;
  }
  if (unknown >= 0) symbols.push_back(unknown);
  return {};
}

void Bpe::MergeShort(std::vector<TokenId>& symbols) const {
  std::size_t count = symbols.size();
  if (count < 2) return;
  std::array<Merge, 48> merges;  // merges[i] joins symbols i and i + 1
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = merges_.Find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoMerge) break;
    symbols[best] = merges[best].id;
    std::copy(symbols.begin() + best + 2, symbols.begin() + count, symbols.begin() + best + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + count - 1, merges.begin() + best);
    --count;
    if (best > 0) merges[best - 1] = merges_.Find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) merges[best] = merges_.Find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(count);
}

void Bpe::MergeLong(BpeState& state) const {
  std::vector<TokenId>& symbols = state.symbols;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  constexpr std::uint32_t kEnd = UINT32_MAX;
  state.previous.resize(count);
  state.next.resize(count);
  state.heap.clear();
  const auto merge_at = [&](std::uint32_t at) {
    return state.next[at] == kEnd ? Merge{} : merges_.Find(symbols[at], symbols[state.next[at]]);
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    state.previous[i] = i == 0 ? kEnd : i - 1;
    state.next[i] = i + 1 == count ? kEnd : i + 1;
    if (const Merge merge = merge_at(i); merge.rank != kNoMerge) {
      state.heap.push_back(static_cast<std::uint64_t>(merge.rank) << 32 | i);
    }
  }
  const auto later = std::greater<std::uint64_t>();
  std::make_heap(state.heap.begin(), state.heap.end(), later);
  const auto push = [&](std::uint32_t at) {
    if (const Merge merge = merge_at(at); merge.rank != kNoMerge) {
      state.heap.push_back(static_cast<std::uint64_t>(merge.rank) << 32 | at);
      std::push_heap(state.heap.begin(), state.heap.end(), later);
    }
  };
  while (!state.heap.empty()) {
    const std::uint64_t top = state.heap.front();
    std::pop_heap(state.heap.begin(), state.heap.end(), later);
    state.heap.pop_back();
    const auto at = static_cast<std::uint32_t>(top);
    if (symbols[at] < 0) continue;  // merged into its left neighbour meanwhile
    const Merge merge = merge_at(at);
    if (merge.rank != top >> 32) continue;  // its pair is another one by now
    const std::uint32_t right = state.next[at];
    symbols[at] = merge.id;
    symbols[right] = -1;
    state.next[at] = state.next[right];
    if (state.next[right] != kEnd) state.previous[state.next[right]] = at;
    if (state.previous[at] != kEnd) push(state.previous[at]);
    push(at);
  }
  std::erase_if(symbols, [](TokenId id) { return id < 0; });
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeBpe(BpeOptions options) {
  return Bpe::Make(std::move(options));
}

}  // namespace tonnage
