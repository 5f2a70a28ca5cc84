// The text under way through normalizers and pre-tokenizers: borrowed from the caller until
// something changes it. Beside the characters it carries one fact about where they came from,
// because one pre-tokenizer (Metaspace with prepend scheme "first") asks for it: which of them
// stand for the very first character of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tonnage {

// No step may make a text longer than this: a file could ask for replacements that double it again
// and again.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 28;

// Where a text begins in the whole input.
struct Origin {
  bool at_start = false;        // the text was cut from the input's very beginning
  std::size_t first_bytes = 0;  // so many leading bytes stand for the input's first character
};

class Text {
 public:
  explicit Text(std::string_view borrowed, Origin origin = {}) : view_(borrowed), origin_(origin) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string_view view() const { return view_; }
  const Origin& origin() const { return origin_; }

  // The new text, and how many of its leading bytes stand for the input's first character.
  void Set(std::string changed, std::size_t first_bytes) {
    storage_ = std::move(changed);
    view_ = storage_;
    origin_.first_bytes = first_bytes;
  }
  // Drops characters at both ends without copying.
  void Trim(std::size_t front_bytes, std::size_t back_bytes) {
    view_.remove_prefix(front_bytes);
    view_.remove_suffix(back_bytes);
    const std::size_t first = origin_.first_bytes;
    origin_.first_bytes = std::min(first > front_bytes ? first - front_bytes : 0, view_.size());
  }

 private:
  std::string_view view_;
  std::string storage_;
  Origin origin_;
};

// A part of a text that pre-tokenizers split further and that the model finally encodes by itself.
struct Piece {
  std::string_view text;
  Origin origin;

  // The part [begin, end) in bytes.
  Piece Slice(std::size_t begin, std::size_t end) const {
    const std::size_t first = origin.first_bytes > begin ? origin.first_bytes - begin : 0;
    return {text.substr(begin, end - begin),
            {origin.at_start && origin.first_bytes > begin, std::min(first, end - begin)}};
  }
};

// Empty pieces vanish.
inline void AppendPiece(std::vector<Piece>& pieces, const Piece& piece) {
  if (!piece.text.empty()) pieces.push_back(piece);
}

// Pieces in order, and the memory of those whose text is not part of the input.
class PieceList {
 public:
  std::vector<Piece>& pieces() { return pieces_; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  // Replaces every piece by what `split(piece, pieces)` appends to the new pieces. None may be
  // empty: see AppendPiece.
  template <typename Split>
  void Map(const Split& split) {
    next_.clear();
    for (const Piece& piece : pieces_) split(piece, next_);
    pieces_.swap(next_);
  }

  // A copy that lives until Clear.
  std::string_view Keep(std::string text) {
    kept_bytes_ += text.size();
    kept_.push_back(std::make_unique<std::string>(std::move(text)));
    return *kept_.back();
  }
  std::size_t kept_bytes() const { return kept_bytes_; }

  void Clear() {
    pieces_.clear();
    next_.clear();
    kept_.clear();
    kept_bytes_ = 0;
  }

 private:
  std::vector<Piece> pieces_, next_;
  std::vector<std::unique_ptr<std::string>> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace tonnage
