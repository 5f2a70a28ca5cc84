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
  // Calls visit(left, right) for every pair.
  template <typename Visit>
  void ForEachPair(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key == kEmpty) continue;
      visit(static_cast<TokenId>(slot.key >> 32), static_cast<TokenId>(slot.key & UINT32_MAX));
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

// Between which characters some merge may join. Says so from what it was told of the tokens that
// merges join; it may say yes without cause, never no. Tokens of bytes may end or begin inside a
// character, so a merge may know only the last bytes of the left character or the first ones of the
// right.
class JoinFilter {
 public:
  // Some merge joins a token that ends in `left` to one that starts with `right`.
  void Add(std::string_view left, std::string_view right) {
    if (left.empty() || right.empty() || IsContinuation(right[0])) return;  // inside a character
    std::size_t begin = left.size() - 1;
    while (begin > 0 && IsContinuation(left[begin]) && left.size() - begin < 4) --begin;
    const bool whole = !IsContinuation(left[begin]);
    const std::string_view last = left.substr(begin);
    const std::string_view first = right.substr(0, CharLength(right[0]));
    // What does not fit together is never found in valid text.
    if (whole ? CharLength(last[0]) != last.size() : last.size() > 3) return;
    const std::size_t suffix = whole ? 0 : last.size();
    const std::size_t prefix = first.size() == CharLength(right[0]) ? 0 : first.size();
    known_[suffix][prefix] = true;
    const std::size_t bit = Bit(Pack(last), Pack(first));
    bits_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }

  // Two characters, one after the other.
  bool MayJoin(std::string_view left, std::string_view right) const {
    for (std::size_t suffix = 0; suffix < left.size(); ++suffix) {
      const std::uint32_t last = Pack(suffix == 0 ? left : left.substr(left.size() - suffix));
      for (std::size_t prefix = 0; prefix < right.size(); ++prefix) {
        if (!known_[suffix][prefix]) continue;
        const std::size_t bit = Bit(last, Pack(prefix == 0 ? right : right.substr(0, prefix)));
        if (bits_[bit / 64] >> bit % 64 & 1) return true;
      }
    }
    return false;
  }

 private:
  static constexpr int kBits = 22;
  static bool IsContinuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
  }
  static std::uint32_t Pack(std::string_view bytes) {
    std::uint32_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  static std::size_t Bit(std::uint32_t left, std::uint32_t right) {
    return (static_cast<std::uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15u >> (64 - kBits);
  }
  // Whether there are merges that know so many bytes: 0 stands for the whole character.
  bool known_[4][4] = {};
  std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>((1u << kBits) / 64);
};

// A word and its ids in one cache line; longer ones are not remembered.
struct alignas(64) CacheEntry {
  static constexpr std::size_t kWordBytes = 22;
  static constexpr std::size_t kIds = 10;
  std::uint8_t tag = 0;  // twice the word's length, and whether it stood for itself
  std::uint8_t count = 0;
  char word[kWordBytes];
  TokenId ids[kIds];
};
static_assert(sizeof(CacheEntry) == 64);

struct BpeState final : ModelState {
  static constexpr std::size_t kEntries = 1 << 13;
  std::vector<CacheEntry> cache = std::vector<CacheEntry>(kEntries);
  std::vector<TokenId> symbols;
  std::vector<Merge> merges;  // of neighbouring symbols, before the first one is done
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
  std::optional<TokenId> FindWhole(std::string_view word) const;
  Status EncodeWord(std::string_view word, bool whole, BpeState& state,
                    std::vector<TokenId>& ids) const;
  Status EncodeNewWord(std::string_view word, bool whole, BpeState& state,
                       std::vector<TokenId>& ids) const;
  Status CutIntoSymbols(std::string_view word, std::vector<TokenId>& symbols) const;
  void MergeShort(std::vector<TokenId>& symbols, std::vector<Merge>& merges) const;
  void MergeLong(BpeState& state) const;

  BpeOptions options_;  // its vocabulary and merges are empty here
  Vocab vocab_;
  MergeTable merges_;
  CharTable chars_;
  std::array<TokenId, 256> byte_ids_{};  // tokens of bytes: raw ones, or <0x..>; -1: none
  bool all_bytes_ = false;
  bool decorated_ = false;  // a prefix or suffix changes what characters look like
  bool raw_bytes_ = false;
  std::vector<Merge> byte_merges_;  // [256 * 256] of pairs of raw bytes
  Vocab raw_vocab_;                 // whole words as bytes, for ignore_merges over raw bytes
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
// their own. That holds as long as every character is made of symbols of its own, so not where
// characters may vanish or fuse with others, and not where merges reach the tokens <0x..>.
void Bpe::FindJoins() {
  cuts_ = raw_bytes_ || (!decorated_ && options_.byte_fallback && all_bytes_);
  cuts_ = cuts_ && vocab_.ids_are_distinct();
  joins_ = JoinFilter();
  const auto is_byte = [&](std::string_view token) {
    return token.size() == 6 && token.starts_with("<0x") && token.back() == '>';
  };
  merges_.ForEachPair([&](TokenId left_id, TokenId right_id) {
    const std::string left(*vocab_.Token(left_id)), right(*vocab_.Token(right_id));
    if (raw_bytes_) {
      const std::optional<std::string> a = FromByteAlphabet(left), b = FromByteAlphabet(right);
      if (a && b) joins_.Add(*a, *b);
    } else if (is_byte(left) || is_byte(right) || is_byte(left + right)) {
      cuts_ = false;
    } else {
      joins_.Add(left, right);
    }
  });
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
  byte_merges_.resize(1 << 16);
  for (int pair = 0; pair < 1 << 16; ++pair) {
    byte_merges_[pair] = merges_.Find(byte_ids_[pair >> 8], byte_ids_[pair & 0xFF]);
  }
  FindJoins();
  return true;
}

Status Bpe::Encode(std::span<const Piece> pieces, ModelState* state,
                   std::vector<TokenId>& ids) const {
  auto& own = static_cast<BpeState&>(*state);
  for (const Piece& piece : pieces) {
    const std::string_view word = piece.text;
    if (!cuts_ || word.size() <= CacheEntry::kWordBytes) {
      RETURN_IF_ERROR(EncodeWord(word, true, own, ids));
      continue;
    }
    if (const std::optional<TokenId> id = FindWhole(word)) {
      ids.push_back(*id);
      continue;
    }
    std::size_t start = 0;
    std::size_t left = 0,
                here = CharLength(word[0]);  // the characters at left and here are neighbours
    while (here < word.size()) {
      const std::size_t next = here + CharLength(word[here]);
      if (!joins_.MayJoin(word.substr(left, here - left), word.substr(here, next - here))) {
        RETURN_IF_ERROR(EncodeWord(word.substr(start, here - start), false, own, ids));
        start = here;
      }
      left = here;
      here = next;
    }
    RETURN_IF_ERROR(EncodeWord(word.substr(start), false, own, ids));
  }
  return {};
}

// The token that a whole word is, where merges are ignored for those.
std::optional<TokenId> Bpe::FindWhole(std::string_view word) const {
  if (!options_.ignore_merges) return std::nullopt;
  return raw_bytes_ ? raw_vocab_.Find(word) : vocab_.Find(word);
}

// `whole`: not just a part of a word.
Status Bpe::EncodeWord(std::string_view word, bool whole, BpeState& state,
                       std::vector<TokenId>& ids) const {
  if (word.size() > CacheEntry::kWordBytes) return EncodeNewWord(word, whole, state, ids);
  const auto tag = static_cast<std::uint8_t>(2 * word.size() + whole);
  CacheEntry& entry = state.cache[HashBytes(word) & (BpeState::kEntries - 1)];
  if (entry.tag == tag && std::memcmp(entry.word, word.data(), word.size()) == 0) {
    ids.insert(ids.end(), entry.ids, entry.ids + entry.count);
    return {};
  }
  const std::size_t first = ids.size();
  RETURN_IF_ERROR(EncodeNewWord(word, whole, state, ids));
  const std::size_t count = ids.size() - first;
  if (count <= CacheEntry::kIds) {
    entry.tag = tag;
    entry.count = static_cast<std::uint8_t>(count);
    std::memcpy(entry.word, word.data(), word.size());
    std::copy_n(ids.begin() + first, count, entry.ids);
  }
  return {};
}

Status Bpe::EncodeNewWord(std::string_view word, bool whole, BpeState& state,
                          std::vector<TokenId>& ids) const {
  if (whole) {
    if (const std::optional<TokenId> id = FindWhole(word)) {
      ids.push_back(*id);
      return {};
    }
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(word[i]); };
  std::vector<TokenId>& symbols = state.symbols;
  symbols.clear();
  if (raw_bytes_) {
    for (std::size_t i = 0; i < word.size(); ++i) symbols.push_back(byte_ids_[byte(i)]);
  } else {
    RETURN_IF_ERROR(CutIntoSymbols(word, symbols));
  }
  std::vector<Merge>& merges = state.merges;
  merges.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    merges.push_back(raw_bytes_ ? byte_merges_[byte(i) << 8 | byte(i + 1)]
                                : merges_.Find(symbols[i], symbols[i + 1]));
  }
  constexpr std::size_t kShort = 48;  // below it, scanning beats keeping a heap
  if (symbols.size() <= kShort) {
    MergeShort(symbols, merges);
  } else {
    MergeLong(state);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
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

// merges[i] is the one of symbols i and i + 1.
void Bpe::MergeShort(std::vector<TokenId>& symbols, std::vector<Merge>& merges) const {
  std::size_t count = symbols.size();
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
    if (i + 1 < count && state.merges[i].rank != kNoMerge) {
      state.heap.push_back(static_cast<std::uint64_t>(state.merges[i].rank) << 32 | i);
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
