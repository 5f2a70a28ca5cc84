// SentencePiece: the vocabulary of a `tokenizer.model` file (a protobuf message, read by a small
// total reader of our own) and its two algorithms, unigram and BPE, exactly as the reference
// library runs them. GGUF vocabularies of that descent fill the same struct. A SentencePiece owns
// its vocabulary; it is const once made and safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/byte_trie.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/hash.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

enum class VocabPieceType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // never matches text
  kUserDefined = 4,  // always matches text, before anything else
  kUnused = 5,       // a BPE merge may pass through it, but never end there
  kByte = 6,         // "<0x41>": never matches text, spells what nothing else does
};

struct VocabPiece {
  std::string text;
  float score = 0;
  VocabPieceType type = VocabPieceType::kNormal;
};

// What a tokenizer.model says.
struct SentencePieceVocab {
  enum class Algorithm { kUnigram, kBpe };

  std::vector<VocabPiece> pieces;
  Algorithm algorithm = Algorithm::kUnigram;
  std::string precompiled_charsmap;
  bool add_dummy_prefix = true;             // a space before the text
  bool dummy_prefix_at_start_only = false;  // not after special tokens
  bool remove_extra_whitespaces = true;     // runs of spaces become one, those at the ends go
  bool escape_whitespaces = true;           // ' ' becomes U+2581 before the vocabulary is asked
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  std::string unk_surface = " \xe2\x81\x87 ";  // what an unknown piece decodes to
  int unk_id = 0;
  int bos_id = 1;   // -1: none
  int eos_id = 2;   // -1: none
  int pad_id = -1;  // -1: none

  // Unigram arithmetic: the reference library sums scores in float and lets a user-defined piece
  // win by a bonus; with this set sums are in double and a user-defined piece scores 0, as Hugging
  // Face and llama.cpp have it.
  bool double_sums = false;
};

// Reads a tokenizer.model. Word and character models are refused by name.
Result<SentencePieceVocab> ParseSentencePieceModel(std::string_view bytes);

// Words that were encoded lately and their ids: the memory of one thread at a time, bounded.
class WordMemory {
 public:
  static constexpr std::size_t kLongestWordBytes = 64, kMostWords = 1 << 15;

  // The ids of a word, or nullptr.
  const std::vector<int>* Find(std::string_view word) const;
  void Remember(std::string_view word, std::vector<int> ids);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return HashBytes(word); }
  };
  std::unordered_map<std::string, std::vector<int>, Hash, std::equal_to<>> words_;
};

class SentencePiece {
 public:
  // Refuses vocabularies that the algorithms cannot run on: empty or repeated pieces, scores that
  // are not numbers, ids out of range, byte fallback without all 256 bytes.
  static Result<SentencePiece> Create(SentencePieceVocab vocab);

  const SentencePieceVocab& vocab() const { return *vocab_; }
  // The id of a piece of any type, or -1.
  int Find(std::string_view piece) const;

  // The text as the vocabulary sees it: normalized, spaces escaped.
  std::string Normalize(std::string_view text, bool at_start = true) const;
  // Appends the ids of `normalized`, which comes from Normalize. `memory`, where there is one, must
  // have served no other vocabulary.
  void EncodeNormalized(std::string_view normalized, std::vector<int>& ids,
                        WordMemory* memory = nullptr) const;

 private:
  struct Span {
    std::string_view text;
    int id;
  };

  std::pair<std::string_view, std::size_t> NormalizePrefix(std::string_view text) const;
  void EncodeBpe(std::string_view chunk, std::vector<Span>& out) const;
  void EncodeUnigram(std::string_view text, std::vector<Span>& out) const;
  template <typename Sum>
  void Viterbi(std::string_view text, std::vector<Span>& out) const;
  std::size_t NextChunk(std::string_view text) const;
  int MatchText(std::string_view piece) const;
  int PieceId(std::string_view piece) const;

  std::unique_ptr<SentencePieceVocab>
      vocab_;  // on the heap, so that the views below outlive a move
  Charsmap charsmap_;
  std::unordered_map<std::string_view, int> matching_;  // pieces that text can be made of
  std::unordered_map<std::string_view, int> reserved_;  // unknown, control and byte pieces
  ByteTrie pieces_;                                     // of `matching_`, for unigram
  ByteTrie user_defined_;
  std::vector<int> byte_ids_;  // [256] with byte fallback, else empty
  std::size_t longest_piece_bytes_ = 0;
  float min_score_ = 0, max_score_ = 0;  // of the normal pieces
  // Whether no piece has a space mark after anything else: then merges never cross into the next
  // word.
  bool words_are_apart_ = false;
};

// A tokenizer's model, normalizer, decoder and, as special tokens, the control pieces. Each stretch
// of text between special tokens is normalized by itself.
Result<TokenizerParts> MakeSentencePieceParts(SentencePieceVocab vocab);

}  // namespace tonnage
