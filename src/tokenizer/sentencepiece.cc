#include "tokenizer/sentencepiece.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";    // U+2581
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr float kUnknownPenalty = 10;

bool IsContinuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xc0) == 0x80; }

// The length of the well-formed character that `text` begins with, 0 where it is malformed.
std::size_t ValidCharLength(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const auto second = static_cast<std::uint8_t>(text[1]);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool beyond = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

bool Matches(VocabPieceType type) {
  return type == VocabPieceType::kNormal || type == VocabPieceType::kUserDefined ||
         type == VocabPieceType::kUnused;
}

// Whether a space mark follows anything but a space mark.
bool HasInnerSpaceMark(std::string_view piece) {
  while (piece.starts_with(kSpaceMark)) piece.remove_prefix(kSpaceMark.size());
  return piece.find(kSpaceMark) != std::string_view::npos;
}

// The BPE of one stretch of text: symbols in a list, candidate merges in a heap, best score first,
// then leftmost.
class BpeMerger {
 public:
  struct Symbol {
    int previous, next;
    std::string_view text;  // empty once merged into its left neighbour
    bool frozen;            // a user-defined piece: never merged
  };
  struct Merge {
    float score;
    int left, right;
    std::size_t size_bytes;  // of the result; another size means that a neighbour has changed since
    bool operator<(const Merge& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  std::vector<Symbol> symbols;
  std::priority_queue<Merge> merges;

  // Lets text become symbols; `split` gives the length of the next one and whether it is frozen.
  template <typename Split>
  void Start(std::string_view text, Split split) {
    while (!text.empty()) {
      const auto [length, frozen] = split(text);
      const int index = static_cast<int>(symbols.size());
      symbols.push_back({index - 1, index + 1, text.substr(0, length), frozen});
      text.remove_prefix(length);
    }
    if (!symbols.empty()) symbols.back().next = -1;
  }

  // `candidate(left, right, joined)` is called for each pair of neighbours and pushes onto `merges`
  // what may merge.
  template <typename Candidate>
  void Run(Candidate candidate) {
    const auto consider = [&](int left, int right) {
      if (left < 0 || right < 0 || symbols[left].frozen || symbols[right].frozen) return;
      const std::string_view joined(symbols[left].text.data(),
                                    symbols[left].text.size() + symbols[right].text.size());
      candidate(left, right, joined);
    };
    for (int i = 1; i < static_cast<int>(symbols.size()); ++i) consider(i - 1, i);
    while (!merges.empty()) {
      const Merge top = merges.top();
      merges.pop();
      Symbol& left = symbols[top.left];
      Symbol& right = symbols[top.right];
      if (left.text.empty() || right.text.empty() ||
          left.text.size() + right.text.size() != top.size_bytes) {
        continue;
      }
      left.text = {left.text.data(), top.size_bytes};
      right.text = {};
      left.next = right.next;
      if (right.next >= 0) symbols[right.next].previous = top.left;
      consider(left.previous, top.left);
      consider(top.left, left.next);
    }
  }
};

}  // namespace

Result<SentencePiece> SentencePiece::Create(SentencePieceVocab vocab) {
  SentencePiece result;
  result.vocab_ = std::make_unique<SentencePieceVocab>(std::move(vocab));
  const SentencePieceVocab& v = *result.vocab_;
  const auto size =
      static_cast<int>(std::min<std::size_t>(v.pieces.size(), std::numeric_limits<int>::max()));
  if (size == 0) return Unreadable("a vocabulary without pieces");
  if (v.unk_id < 0 || v.unk_id >= size) {
    return Unreadable("the unknown piece's id {} is not below {}", v.unk_id, size);
  }
  if (ValidUtf8Prefix(v.unk_surface) != v.unk_surface.size()) {
    return Unreadable("the unknown piece's surface is not valid UTF-8");
  }
  ASSIGN_OR_RETURN(result.charsmap_, Charsmap::Parse(v.precompiled_charsmap));

  std::vector<ByteTrie::Entry> matching, user_defined;
  result.min_score_ = std::numeric_limits<float>::max();
  result.max_score_ = std::numeric_limits<float>::lowest();
  result.words_are_apart_ = true;
  for (int id = 0; id < size; ++id) {
    const VocabPiece& piece = v.pieces[id];
    if (piece.text.empty()) return Unreadable("piece {} is empty", id);
    if (ValidUtf8Prefix(piece.text) != piece.text.size()) {
      return Unreadable("piece {} is not valid UTF-8", id);
    }
    auto& map = Matches(piece.type) ? result.matching_ : result.reserved_;
    if (!map.emplace(piece.text, id).second) {
      return Unreadable("piece {}, \"{}\", is there twice", id, piece.text);
    }
    if (!Matches(piece.type)) continue;
    if (!std::isfinite(piece.score)) {
      return Unreadable("piece {}, \"{}\", has the score {}", id, piece.text, piece.score);
    }
    matching.emplace_back(piece.text, id);
    result.longest_piece_bytes_ = std::max(result.longest_piece_bytes_, piece.text.size());
    if (piece.type == VocabPieceType::kUserDefined) user_defined.emplace_back(piece.text, id);
    if (piece.type == VocabPieceType::kNormal) {
      result.min_score_ = std::min(result.min_score_, piece.score);
      result.max_score_ = std::max(result.max_score_, piece.score);
    }
    // How an unused piece comes apart depends on the merges of the whole text.
    if (piece.type == VocabPieceType::kUnused || HasInnerSpaceMark(piece.text)) {
      result.words_are_apart_ = false;
    }
  }
  if (v.algorithm == SentencePieceVocab::Algorithm::kUnigram) result.pieces_ = ByteTrie(matching);
  result.user_defined_ = ByteTrie(user_defined);

  if (v.byte_fallback) {
    result.byte_ids_.resize(256);
    for (int byte = 0; byte < 256; ++byte) {
      result.byte_ids_[byte] = result.Find(fmt::format("<0x{:02X}>", byte));
      if (result.byte_ids_[byte] < 0) {
        return Unreadable("byte fallback, but no piece <0x{:02X}>", byte);
      }
    }
  }
  return result;
}

int SentencePiece::Find(std::string_view piece) const {
  if (const auto it = reserved_.find(piece); it != reserved_.end()) return it->second;
  return MatchText(piece);
}

int SentencePiece::MatchText(std::string_view piece) const {
  if (piece.size() > longest_piece_bytes_) return -1;
  const auto it = matching_.find(piece);
  return it == matching_.end() ? -1 : it->second;
}

int SentencePiece::PieceId(std::string_view piece) const {
  const int id = Find(piece);
  return id < 0 ? vocab_->unk_id : id;
}

// What stands for the beginning of `text`, and how many bytes of it.
std::pair<std::string_view, std::size_t> SentencePiece::NormalizePrefix(
    std::string_view text) const {
  if (const std::size_t length = user_defined_.LongestPrefix(text); length > 0) {
    return {text.substr(0, length), length};
  }
  std::size_t key_bytes = 0;
  if (const auto mapped = charsmap_.TransformLongest(text, key_bytes)) return {*mapped, key_bytes};
  const std::size_t length = ValidCharLength(text);
  if (length == 0) return {kReplacement, 1};
  return {text.substr(0, length), length};
}

std::string SentencePiece::Normalize(std::string_view text, bool at_start) const {
  const SentencePieceVocab& v = *vocab_;
  const std::string_view space = v.escape_whitespaces ? kSpaceMark : std::string_view(" ");
  if (v.remove_extra_whitespaces) {
    while (!text.empty()) {
      const auto [piece, consumed] = NormalizePrefix(text);
      if (piece != " ") break;
      text.remove_prefix(consumed);
    }
  }
  std::string out;
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 2);
  const bool prefix = v.add_dummy_prefix && (at_start || !v.dummy_prefix_at_start_only);
  if (prefix && !v.treat_whitespace_as_suffix) out += space;

  bool after_space = v.remove_extra_whitespaces;
  while (!text.empty()) {
    auto [piece, consumed] = NormalizePrefix(text);
    while (after_space && piece.starts_with(' ')) piece.remove_prefix(1);
    if (!piece.empty()) {
      for (const char c : piece) {
        if (c == ' ') {
          out += space;
        } else {
          out += c;
        }
      }
      after_space = piece.ends_with(' ');
    }
    text.remove_prefix(consumed);
    if (!v.remove_extra_whitespaces) after_space = false;
  }
  if (v.remove_extra_whitespaces) {
    while (out.ends_with(space)) out.resize(out.size() - space.size());
  }
  if (prefix && v.treat_whitespace_as_suffix) out += space;
  return out;
}

const std::vector<int>* WordMemory::Find(std::string_view word) const {
  const auto it = words_.find(word);
  return it == words_.end() ? nullptr : &it->second;
}

void WordMemory::Remember(std::string_view word, std::vector<int> ids) {
  if (words_.size() >= kMostWords) words_.clear();
  words_.emplace(word, std::move(ids));
}

void SentencePiece::EncodeNormalized(std::string_view normalized, std::vector<int>& ids,
                                     WordMemory* memory) const {
  std::vector<Span> spans;
  bool after_unknown = false;
  const auto flush = [&] {
    for (const Span& span : spans) {
      const bool unknown = span.id == vocab_->unk_id;
      if (unknown && !byte_ids_.empty()) {
        for (const char byte : span.text) ids.push_back(byte_ids_[static_cast<std::uint8_t>(byte)]);
      } else if (!unknown || !after_unknown) {  // a run of unknowns is one
        ids.push_back(span.id);
      }
      after_unknown = unknown;
    }
    spans.clear();
  };
  if (vocab_->algorithm == SentencePieceVocab::Algorithm::kUnigram) {
    EncodeUnigram(normalized, spans);
    flush();
    return;
  }
  // Without byte fallback a word's ids depend on whether the word before ended in something
  // unknown.
  if (!words_are_apart_ || byte_ids_.empty()) memory = nullptr;
  while (!normalized.empty()) {
    const std::string_view word = normalized.substr(0, NextChunk(normalized));
    normalized.remove_prefix(word.size());
    const bool short_enough = memory != nullptr && word.size() <= WordMemory::kLongestWordBytes;
    if (const std::vector<int>* known = short_enough ? memory->Find(word) : nullptr) {
      ids.insert(ids.end(), known->begin(), known->end());
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(ids.size());
    EncodeBpe(word, spans);
    flush();
    if (short_enough) memory->Remember(word, {ids.begin() + first, ids.end()});
  }
}

// Up to the next word, when words can be encoded one by one.
std::size_t SentencePiece::NextChunk(std::string_view text) const {
  if (!words_are_apart_) return text.size();
  std::size_t at = 0;
  while (text.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
  return std::min(text.find(kSpaceMark, at), text.size());
}

void SentencePiece::EncodeBpe(std::string_view chunk, std::vector<Span>& out) const {
  BpeMerger merger;
  merger.Start(chunk, [&](std::string_view text) -> std::pair<std::size_t, bool> {
    const std::size_t length = user_defined_.LongestPrefix(text);
    return length > 0 ? std::pair{length, true} : std::pair{CharLength(text[0]), false};
  });
  // How the unused pieces that were passed through were made, so as to take them apart again.
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> halves;
  merger.Run([&](int left, int right, std::string_view joined) {
    const int id = MatchText(joined);
    if (id < 0) return;
    const VocabPiece& piece = vocab_->pieces[id];
    merger.merges.push({piece.score, left, right, joined.size()});
    if (piece.type == VocabPieceType::kUnused) {
      halves[joined] = {merger.symbols[left].text, merger.symbols[right].text};
    }
  });
  std::vector<std::string_view> open;
  for (int i = 0; i >= 0 && !merger.symbols.empty(); i = merger.symbols[i].next) {
    open = {merger.symbols[i].text};
    while (!open.empty()) {
      const std::string_view text = open.back();
      open.pop_back();
      const int id = PieceId(text);
      const auto made_of =
          vocab_->pieces[id].type == VocabPieceType::kUnused ? halves.find(text) : halves.end();
      if (made_of == halves.end()) {
        out.push_back({text, id});
      } else {
        open.push_back(made_of->second.second);
        open.push_back(made_of->second.first);
      }
    }
  }
}

void SentencePiece::EncodeUnigram(std::string_view text, std::vector<Span>& out) const {
  if (vocab_->double_sums) {
    Viterbi<double>(text, out);
  } else {
    Viterbi<float>(text, out);
  }
}

template <typename Sum>
void SentencePiece::Viterbi(std::string_view text, std::vector<Span>& out) const {
  struct Best {
    int id = -1;
    std::ptrdiff_t begin = -1;  // -1: nothing ends here yet
    Sum score = 0;
  };
  std::vector<Best> ends(text.size() + 1);
  const Sum unknown_score = static_cast<Sum>(min_score_ - kUnknownPenalty);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t char_length = CharLength(text[at]);
    const Sum so_far = ends[at].score;
    bool whole_char = false;
    const auto offer = [&](std::size_t length, int id, Sum score) {
      Best& best = ends[at + length];
      if (best.begin < 0 || so_far + score > best.score) {
        best = {id, static_cast<std::ptrdiff_t>(at), so_far + score};
      }
    };
    pieces_.ForEachPrefix(text.substr(at), [&](std::size_t length, int id) {
      const VocabPiece& piece = vocab_->pieces[id];
      if (piece.type == VocabPieceType::kUnused) return;
      Sum score = piece.score;
      if (piece.type == VocabPieceType::kUserDefined) {
        score = vocab_->double_sums ? Sum{0} : static_cast<Sum>(length * max_score_ - 0.1);
      }
      offer(length, id, score);
      whole_char |= length == char_length;
    });
    if (!whole_char) offer(char_length, vocab_->unk_id, unknown_score);
    at += char_length;
  }
  const std::size_t first = out.size();
  for (std::size_t end = text.size(); end > 0;) {
    const auto begin = static_cast<std::size_t>(ends[end].begin);
    out.push_back({text.substr(begin, end - begin), ends[end].id});
    end = begin;
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

}  // namespace tonnage
