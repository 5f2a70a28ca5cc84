#include "tokenizer/pre_tokenizer.h"

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pattern.h"
#include "tokenizer/scanner.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// A stretch of a piece that is a delimiter or lies between two.
struct Segment {
  std::size_t begin, end;
  bool delimiter;
};

// What to do with delimiters, given the segments that cover a piece. The merging rules look at
// neighbours the way the reference does, down to what it makes of several delimiters in a row.
void AppendSegments(const Piece& piece, std::span<const Segment> segments, SplitBehavior behavior,
                    std::vector<Piece>& out) {
  const auto append = [&](const Segment& s) { AppendPiece(out, piece.Slice(s.begin, s.end)); };
  if (behavior == SplitBehavior::kIsolated || behavior == SplitBehavior::kRemoved) {
    for (const Segment& segment : segments) {
      if (behavior == SplitBehavior::kIsolated || !segment.delimiter) append(segment);
    }
    return;
  }
  std::vector<Segment> merged;
  bool previous = false;  // whether the segment before this one was a delimiter
  const auto add = [&](const Segment& segment, bool merge) {
    if (merge && !merged.empty()) {
      merged.back().begin = std::min(merged.back().begin, segment.begin);
      merged.back().end = std::max(merged.back().end, segment.end);
    } else {
      merged.push_back(segment);
    }
    previous = segment.delimiter;
  };
  switch (behavior) {
    case SplitBehavior::kContiguous:
      for (const Segment& segment : segments) add(segment, segment.delimiter == previous);
      break;
    case SplitBehavior::kMergedWithPrevious:
      for (const Segment& segment : segments) add(segment, segment.delimiter && !previous);
      break;
    default:
      for (std::size_t i = segments.size(); i-- > 0;) {
        add(segments[i], segments[i].delimiter && !previous);
      }
      std::reverse(merged.begin(), merged.end());
  }
  for (const Segment& segment : merged) append(segment);
}

// Splits at every character that `is_delimiter`.
template <typename IsDelimiter>
void SplitAtChars(PieceList& list, SplitBehavior behavior, const IsDelimiter& is_delimiter) {
  std::vector<Segment> segments;
  list.Map([&](const Piece& piece, std::vector<Piece>& out) {
    segments.clear();
    std::size_t last = 0;
    for (std::size_t pos = 0; pos < piece.text.size();) {
      const std::size_t begin = pos;
      if (!is_delimiter(NextChar(piece.text, pos))) continue;
      if (last < begin) segments.push_back({last, begin, false});
      segments.push_back({begin, pos, true});
      last = pos;
    }
    if (last < piece.text.size()) segments.push_back({last, piece.text.size(), false});
    AppendSegments(piece, segments, behavior, out);
  });
}

Status SplitAtMatches(PieceList& list, const Pattern& pattern, SplitBehavior behavior,
                      bool invert) {
  std::vector<Match> matches;
  std::vector<Segment> segments;
  Status status;
  list.Map([&](const Piece& piece, std::vector<Piece>& out) {
    if (!status.ok()) return;
    matches.clear();
    segments.clear();
    status = pattern.FindAll(piece.text, matches);
    std::size_t last = 0;
    for (const Match& match : matches) {
      if (last < match.begin) segments.push_back({last, match.begin, invert});
      segments.push_back({match.begin, match.end, !invert});
      last = match.end;
    }
    if (last < piece.text.size()) segments.push_back({last, piece.text.size(), invert});
    AppendSegments(piece, segments, behavior, out);
  });
  return status;
}

// The piece with `prefix` before it.
Piece Prefixed(PieceList& list, const Piece& piece, std::string_view prefix) {
  Origin origin = piece.origin;
  if (origin.first_bytes > 0) origin.first_bytes += prefix.size();
  return {list.Keep(std::string(prefix).append(piece.text)), origin};
}

class BertPreTokenizer final : public PreTokenizer {
 public:
  Status Split(PieceList& list) const override {
    const CharClasses& classes = CharClasses::Get();
    SplitAtChars(list, SplitBehavior::kRemoved,
                 [&](char32_t c) { return classes[c] & kRustSpace; });
    SplitAtChars(list, SplitBehavior::kIsolated,
                 [&](char32_t c) { return classes[c] & kBertPunctuation; });
    return {};
  }
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  Status Split(PieceList& list) const override {
    if (add_prefix_space_) {
      list.Map([&](const Piece& piece, std::vector<Piece>& out) {
        out.push_back(piece.text.front() == ' ' ? piece : Prefixed(list, piece, " "));
      });
    }
    if (use_regex_) {
      static const Scanner scanner = FindScanner(kGpt2Expression);
      list.Map([&](const Piece& piece, std::vector<Piece>& out) {
        for (std::size_t pos = 0, end = 0; pos < piece.text.size(); pos = end) {
          end = scanner(piece.text, pos);  // which matches everywhere
          out.push_back(piece.Slice(pos, end));
        }
      });
    }
    if (!raw_) WriteInAlphabet(list);
    return {};
  }
  bool ends_with_byte_level() const override { return true; }
  void KeepRawBytes() override { raw_ = true; }

 private:
  // All pieces into one new text, since there may be many small ones.
  static void WriteInAlphabet(PieceList& list) {
    std::size_t bytes = 0;
    for (const Piece& piece : list.pieces()) bytes += piece.text.size();
    std::string all;
    all.reserve(2 * bytes);
    std::vector<std::size_t> ends;
    for (Piece& piece : list.pieces()) {
      const std::size_t begin = all.size(), first = piece.origin.first_bytes;
      for (std::size_t i = 0; i < piece.text.size(); ++i) {
        AppendChar(all, ByteToChar(static_cast<unsigned char>(piece.text[i])));
        if (i + 1 == first) piece.origin.first_bytes = all.size() - begin;
      }
      ends.push_back(all.size());
    }
    const std::string_view kept = list.Keep(std::move(all));
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      list.pieces()[i].text = kept.substr(begin, ends[i] - begin);
      begin = ends[i];
    }
  }

  bool add_prefix_space_, use_regex_, raw_ = false;
};

class CharDelimiterSplit final : public PreTokenizer {
 public:
  explicit CharDelimiterSplit(char32_t delimiter) : delimiter_(delimiter) {}
  Status Split(PieceList& list) const override {
    SplitAtChars(list, SplitBehavior::kRemoved, [&](char32_t c) { return c == delimiter_; });
    return {};
  }

 private:
  char32_t delimiter_;
};

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme, bool split)
      : replacement_(CharToString(replacement)), scheme_(scheme), split_(split) {}

  Status Split(PieceList& list) const override {
    list.Map([&](const Piece& piece, std::vector<Piece>& out) {
      Piece marked = piece;
      if (piece.text.find(' ') != std::string_view::npos) marked = Marked(list, piece);
      const bool prepend = scheme_ == PrependScheme::kAlways ||
                           (scheme_ == PrependScheme::kFirst && piece.origin.at_start);
      if (prepend && !marked.text.starts_with(replacement_))
        marked = Prefixed(list, marked, replacement_);
      if (!split_) {
        out.push_back(marked);
        return;
      }
      std::size_t begin = 0;
      while (begin < marked.text.size()) {
        const std::size_t end =
            std::min(marked.text.find(replacement_, begin + 1), marked.text.size());
        out.push_back(marked.Slice(begin, end));
        begin = end;
      }
    });
    return {};
  }

 private:
  Piece Marked(PieceList& list, const Piece& piece) const {
    std::string text;
    text.reserve(piece.text.size() + piece.text.size() / 2);
    Origin origin = piece.origin;
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      if (piece.text[i] == ' ') {
        text += replacement_;
      } else {
        text += piece.text[i];
      }
      if (i + 1 == piece.origin.first_bytes) origin.first_bytes = text.size();
    }
    return {list.Keep(std::move(text)), origin};
  }

  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

class Whitespace final : public PreTokenizer {
 public:
  // \w+|[^\w\s]+
  Status Split(PieceList& list) const override {
    const CharClasses& classes = CharClasses::Get();
    const auto kind = [&](char32_t c) { return classes[c] & (kRustWord | kRustSpace); };
    list.Map([&](const Piece& piece, std::vector<Piece>& out) {
      for (std::size_t pos = 0; pos < piece.text.size();) {
        const std::size_t begin = pos;
        const std::uint32_t first = kind(NextChar(piece.text, pos));
        for (std::size_t next = pos; pos < piece.text.size(); pos = next) {
          if (kind(NextChar(piece.text, next)) != first) break;
        }
        if (!(first & kRustSpace)) out.push_back(piece.Slice(begin, pos));
      }
    });
    return {};
  }
};

class WhitespaceSplit final : public PreTokenizer {
 public:
  Status Split(PieceList& list) const override {
    const CharClasses& classes = CharClasses::Get();
    SplitAtChars(list, SplitBehavior::kRemoved,
                 [&](char32_t c) { return classes[c] & kRustSpace; });
    return {};
  }
};

class Punctuation final : public PreTokenizer {
 public:
  explicit Punctuation(SplitBehavior behavior) : behavior_(behavior) {}
  Status Split(PieceList& list) const override {
    const CharClasses& classes = CharClasses::Get();
    SplitAtChars(list, behavior_, [&](char32_t c) { return classes[c] & kBertPunctuation; });
    return {};
  }

 private:
  SplitBehavior behavior_;
};

class Digits final : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}
  Status Split(PieceList& list) const override {
    const CharClasses& classes = CharClasses::Get();
    SplitAtChars(list, individual_ ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                 [&](char32_t c) { return classes[c] & kRustNumeric; });
    return {};
  }

 private:
  bool individual_;
};

class UnicodeScripts final : public PreTokenizer {
 public:
  // A piece begins where the script changes. What stands before the first character that has a
  // script is lost, as in the reference.
  Status Split(PieceList& list) const override {
    list.Map([](const Piece& piece, std::vector<Piece>& out) {
      constexpr std::size_t kNone = SIZE_MAX;
      std::size_t begin = kNone;
      int last = 0;
      for (std::size_t pos = 0; pos < piece.text.size();) {
        const std::size_t here = pos;
        const int script = Script(NextChar(piece.text, pos));
        if (script == 0 || script == last) continue;
        if (begin != kNone) AppendPiece(out, piece.Slice(begin, here));
        begin = here;
        last = script;
      }
      if (begin != kNone) AppendPiece(out, piece.Slice(begin, piece.text.size()));
    });
    return {};
  }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length_chars) : length_chars_(length_chars) {}
  Status Split(PieceList& list) const override {
    list.Map([&](const Piece& piece, std::vector<Piece>& out) {
      for (std::size_t pos = 0; pos < piece.text.size();) {
        const std::size_t begin = pos;
        for (std::size_t i = 0; i < length_chars_ && pos < piece.text.size(); ++i) {
          pos += CharLength(piece.text[pos]);
        }
        out.push_back(piece.Slice(begin, pos));
      }
    });
    return {};
  }

 private:
  std::size_t length_chars_;
};

class SplitPreTokenizer final : public PreTokenizer {
 public:
  SplitPreTokenizer(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status Split(PieceList& list) const override {
    return SplitAtMatches(list, *pattern_, behavior_, invert_);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  Status Split(PieceList& list) const override {
    for (const auto& step : steps_) {
      RETURN_IF_ERROR(step->Split(list));
      if (list.kept_bytes() > 4 * kMaxTextBytes) {
        return InvalidArgument("the pre-tokenizers make texts of over {} bytes", 4 * kMaxTextBytes);
      }
    }
    return {};
  }
  bool ends_with_byte_level() const override {
    return !steps_.empty() && steps_.back()->ends_with_byte_level();
  }
  void KeepRawBytes() override { steps_.back()->KeepRawBytes(); }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeBertPreTokenizer() {
  return std::make_unique<BertPreTokenizer>();
}
std::unique_ptr<PreTokenizer> MakeByteLevelPreTokenizer(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex);
}
std::unique_ptr<PreTokenizer> MakeCharDelimiterSplit(char32_t delimiter) {
  return std::make_unique<CharDelimiterSplit>(delimiter);
}
std::unique_ptr<PreTokenizer> MakeMetaspacePreTokenizer(char32_t replacement, PrependScheme scheme,
                                                        bool split) {
  return std::make_unique<Metaspace>(replacement, scheme, split);
}
std::unique_ptr<PreTokenizer> MakeWhitespacePreTokenizer() {
  return std::make_unique<Whitespace>();
}
std::unique_ptr<PreTokenizer> MakeWhitespaceSplit() { return std::make_unique<WhitespaceSplit>(); }
std::unique_ptr<PreTokenizer> MakePunctuationPreTokenizer(SplitBehavior behavior) {
  return std::make_unique<Punctuation>(behavior);
}
std::unique_ptr<PreTokenizer> MakeDigitsPreTokenizer(bool individual_digits) {
  return std::make_unique<Digits>(individual_digits);
}
std::unique_ptr<PreTokenizer> MakeUnicodeScriptsPreTokenizer() {
  return std::make_unique<UnicodeScripts>();
}
std::unique_ptr<PreTokenizer> MakeFixedLengthPreTokenizer(std::size_t length_chars) {
  CHECK_GT(length_chars, 0u);
  return std::make_unique<FixedLength>(length_chars);
}
std::unique_ptr<PreTokenizer> MakeSplitPreTokenizer(std::string literal, SplitBehavior behavior,
                                                    bool invert) {
  return std::make_unique<SplitPreTokenizer>(MakeLiteralPattern(std::move(literal)), behavior,
                                             invert);
}
Result<std::unique_ptr<PreTokenizer>> MakeSplitRegexPreTokenizer(std::string_view regex,
                                                                 SplitBehavior behavior,
                                                                 bool invert) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pattern> pattern, MakeRegexPattern(regex));
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<SplitPreTokenizer>(std::move(pattern), behavior, invert));
}
std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

}  // namespace tonnage
