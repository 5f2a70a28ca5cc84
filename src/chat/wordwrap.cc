#include "chat/wordwrap.h"

#include <vector>

#include "chat/text.h"

namespace tonnage::chat {
namespace {

using Chars = std::u32string_view;

// textwrap only knows ASCII white space.
bool IsBlank(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsLetter(char32_t c) { return IsWordChar(c) && !IsDecimal(c); }
bool IsWordPunctuation(char32_t c) {
  return IsWordChar(c) || (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) !=
                                           std::string_view::npos);
}

// Splits a paragraph into words, blanks and dashes: the pieces between which lines may break.
class Splitter {
 public:
  Splitter(Chars text, bool on_hyphens) : text_(text), on_hyphens_(on_hyphens) { Advance(); }

  // The next piece; empty at the end.
  const Chars& front() const { return front_; }
  void Advance() {
    if (pos_ == text_.size()) {
      front_ = {};
      return;
    }
    const std::size_t end = on_hyphens_ ? ChunkEnd() : SimpleEnd();
    front_ = text_.substr(pos_, end - pos_);
    pos_ = end;
  }
  // Gives the first `count` characters of the next piece, which loses them.
  Chars Cut(std::size_t count) {
    const Chars head = front_.substr(0, count);
    front_.remove_prefix(head.size());
    if (front_.empty()) Advance();
    return head;
  }

 private:
  char32_t At(std::size_t i) const { return i < text_.size() ? text_[i] : U'\0'; }
  bool In(std::size_t i) const { return i < text_.size(); }

  std::size_t BlanksEnd(std::size_t i) const {
    while (In(i) && IsBlank(text_[i])) ++i;
    return i;
  }

  std::size_t SimpleEnd() const {
    if (IsBlank(text_[pos_])) return BlanksEnd(pos_);
    std::size_t i = pos_;
    while (In(i) && !IsBlank(text_[i])) ++i;
    return i;
  }

  // Two or more dashes from `i` on, followed by a word character: their end, else 0.
  std::size_t DashesEnd(std::size_t i) const {
    std::size_t end = i;
    while (At(end) == '-') ++end;
    return end >= i + 2 && In(end) && IsWordChar(text_[end]) ? end : 0;
  }

  std::size_t ChunkEnd() const {
    if (IsBlank(text_[pos_])) return BlanksEnd(pos_);
    if (pos_ > 0 && IsWordPunctuation(text_[pos_ - 1])) {
      if (const std::size_t end = DashesEnd(pos_)) return end;
    }
    for (std::size_t i = pos_ + 1;; ++i) {
      // A hyphen inside a word, where the break comes after it.
      if (At(i) == '-' && HyphenBreaks(i)) return i + 1;
      if (!In(i) || IsBlank(text_[i])) return i;
      if (IsWordPunctuation(text_[i - 1]) && DashesEnd(i)) return i;
    }
  }

  bool HyphenBreaks(std::size_t hyphen) const {
    const bool before = hyphen >= 2 && IsLetter(text_[hyphen - 1]) && IsLetter(text_[hyphen - 2]);
    const bool after =
        In(hyphen + 1) && In(hyphen + 2) && IsLetter(text_[hyphen + 1]) &&
        (IsLetter(text_[hyphen + 2]) ||
         (text_[hyphen + 2] == '-' && In(hyphen + 3) && IsLetter(text_[hyphen + 3])));
    return (before || BeforeShort(hyphen)) && after;
  }

  // "a-b-": a letter, a hyphen and a letter before this hyphen.
  bool BeforeShort(std::size_t hyphen) const {
    return hyphen >= 3 && IsLetter(text_[hyphen - 3]) && text_[hyphen - 2] == '-' &&
           IsLetter(text_[hyphen - 1]);
  }

  const Chars text_;
  const bool on_hyphens_;
  std::size_t pos_ = 0;
  Chars front_;
};

bool AllBlank(Chars chunk) {
  for (const char32_t c : chunk) {
    if (!IsSpace(c)) return false;
  }
  return true;
}

// Where a chunk longer than `space` is cut: after its last hyphen that fits, if breaking there is
// allowed.
std::size_t LongWordCut(Chars chunk, std::size_t space, bool on_hyphens) {
  if (!on_hyphens || chunk.size() <= space) return space;
  const std::size_t hyphen = chunk.rfind(U'-', space == 0 ? 0 : space - 1);
  if (hyphen == Chars::npos || hyphen == 0 || hyphen >= space) return space;
  for (std::size_t i = 0; i < hyphen; ++i) {
    if (chunk[i] != '-') return hyphen + 1;
  }
  return space;
}

}  // namespace

void WrapParagraph(std::string_view text, const WrapOptions& options,
                   const std::function<bool(std::string)>& emit) {
  std::u32string chars;
  for (std::size_t i = 0; i < text.size();) chars.push_back(DecodeChar(text, &i));
  Splitter chunks(chars, options.break_on_hyphens);
  const auto width = static_cast<std::size_t>(options.width);
  bool first_line = true;
  while (!chunks.front().empty()) {
    if (!first_line && AllBlank(chunks.front())) chunks.Advance();
    std::vector<Chars> line;
    std::size_t length = 0;
    while (!chunks.front().empty() && length + chunks.front().size() <= width) {
      length += chunks.front().size();
      line.push_back(chunks.front());
      chunks.Advance();
    }
    if (chunks.front().size() > width) {
      if (options.break_long_words) {
        line.push_back(
            chunks.Cut(LongWordCut(chunks.front(), width - length, options.break_on_hyphens)));
      } else if (line.empty()) {
        line.push_back(chunks.front());
        chunks.Advance();
      }
    }
    if (!line.empty() && AllBlank(line.back())) line.pop_back();
    if (line.empty()) continue;
    first_line = false;
    std::string out;
    for (const Chars& chunk : line) {
      for (const char32_t c : chunk) AppendChar(c, &out);
    }
    if (!emit(std::move(out))) return;
  }
}

}  // namespace tonnage::chat
