#include "chat/lexer.h"

#include <cstring>
#include <string>

#include "chat/number.h"
#include "chat/string_literal.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

bool IsDigitChar(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, Arena* arena) : source_(source), arena_(arena) {}

  Result<std::vector<Token>> Run() {
    while (pos_ < source_.size()) RETURN_IF_ERROR(Root());
    Add(TokenKind::kEnd, pos_, {});
    return std::move(tokens_);
  }

 private:
  struct Tag {
    enum Kind { kNone, kRaw, kBlock, kVariable, kComment } kind = kNone;
    std::size_t begin = 0;  // of the tag
    std::size_t end = 0;    // after its opening
    char sign = 0;          // '-', '+' or 0
  };

  bool StartsWith(std::size_t at, std::string_view what) const {
    return source_.substr(std::min(at, source_.size()), what.size()) == what;
  }

  // The next position at or after `at` that is not white space.
  std::size_t SkipSpace(std::size_t at) const {
    while (at < source_.size()) {
      std::size_t next = at;
      if (!IsSpace(DecodeChar(source_, &next))) break;
      at = next;
    }
    return at;
  }

  char SignAt(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  // Matches `{%- raw -%}` at `at`, with its white space; npos when it is something else.
  std::size_t MatchRawBegin(std::size_t at) const {
    std::size_t i = at + 2;
    if (SignAt(i)) ++i;
    i = SkipSpace(i);
    if (!StartsWith(i, "raw")) return std::string_view::npos;
    i = SkipSpace(i + 3);
    if (StartsWith(i, "-%}")) return SkipSpace(i + 3);
    return StartsWith(i, "%}") ? i + 2 : std::string_view::npos;
  }

  Tag FindTag(std::size_t from) const {
    for (std::size_t i = from; i + 1 < source_.size(); ++i) {
      const void* brace = std::memchr(source_.data() + i, '{', source_.size() - 1 - i);
      if (brace == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const char*>(brace) - source_.data());
      const char next = source_[i + 1];
      if (next != '%' && next != '{' && next != '#') continue;
      Tag tag{.kind = next == '%'   ? Tag::kBlock
                      : next == '{' ? Tag::kVariable
                                    : Tag::kComment,
              .begin = i,
              .end = i + 2,
              .sign = SignAt(i + 2)};
      if (tag.sign) ++tag.end;
      if (tag.kind == Tag::kBlock) {
        if (const std::size_t end = MatchRawBegin(i); end != std::string_view::npos) {
          tag.kind = Tag::kRaw;
          tag.end = end;
        }
      }
      return tag;
    }
    return {};
  }

  // The data before a tag, less what the tag's sign or lstrip_blocks takes.
  std::string_view StripBefore(std::string_view data, char sign, bool lstrip) const {
    if (sign == '-') return StripSpaceRight(data);
    if (sign == '+' || !lstrip) return data;
    const std::size_t line = data.rfind('\n') + 1;
    if (line == 0 && !line_starting_) return data;
    return StripSpace(data.substr(line)).empty() ? data.substr(0, line) : data;
  }

  Status Root() {
    const Tag tag = FindTag(pos_);
    if (tag.kind == Tag::kNone) {
      AddData(pos_, source_.substr(pos_));
      pos_ = source_.size();
      return {};
    }
    AddData(pos_, StripBefore(source_.substr(pos_, tag.begin - pos_), tag.sign,
                              tag.kind != Tag::kVariable));
    MoveTo(tag.end);
    switch (tag.kind) {
      case Tag::kRaw:
        return Raw(tag.begin);
      case Tag::kComment:
        return Comment(tag.begin);
      default:
        return Expression(tag);
    }
  }

  void AddData(std::size_t at, std::string_view data) {
    if (!data.empty()) Add(TokenKind::kData, at, data);
  }

  void MoveTo(std::size_t end) {
    pos_ = end;
    line_starting_ = end > 0 && source_[end - 1] == '\n';
  }

  // The position after a tag's closing "%}" or "#}" and the white space that goes with it.
  std::size_t AfterClosing(std::size_t at, std::string_view closing) const {
    if (StartsWith(at, "+") && StartsWith(at + 1, closing)) return at + 1 + closing.size();
    if (StartsWith(at, "-") && StartsWith(at + 1, closing))
      return SkipSpace(at + 1 + closing.size());
    if (!StartsWith(at, closing)) return std::string_view::npos;
    at += closing.size();
    return StartsWith(at, "\n") ? at + 1 : at;  // trim_blocks
  }

  Status Comment(std::size_t begin) {
    const std::size_t close = source_.find("#}", pos_);
    if (close == std::string_view::npos) return ErrorAt(At(begin), "this comment has no end");
    const bool signed_close = close > pos_ && SignAt(close - 1);
    MoveTo(AfterClosing(signed_close ? close - 1 : close, "#}"));
    return {};
  }

  Status Raw(std::size_t begin) {
    const std::size_t data_begin = pos_;
    for (std::size_t i = pos_; (i = source_.find("{%", i)) != std::string_view::npos; ++i) {
      const char sign = SignAt(i + 2);
      std::size_t at = SkipSpace(i + 2 + (sign ? 1 : 0));
      if (!StartsWith(at, "endraw")) continue;
      at = SkipSpace(at + 6);
      const std::size_t end = AfterClosing(at, "%}");
      if (end == std::string_view::npos) continue;
      AddData(data_begin, StripBefore(source_.substr(data_begin, i - data_begin), sign, true));
      MoveTo(end);
      return {};
    }
    return ErrorAt(At(begin), "this raw block has no end");
  }

  // The tokens between `{{` and `}}`, or `{%` and `%}`. Inside brackets a closing tag is only
  // operators.
  Status Expression(const Tag& tag) {
    const bool block = tag.kind == Tag::kBlock;
    Add(block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, tag.begin, {});
    std::string brackets;
    while (true) {
      if (brackets.empty()) {
        const std::size_t end = block ? AfterClosing(pos_, "%}") : AfterVariable(pos_);
        if (end != std::string_view::npos) {
          Add(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, pos_, {});
          MoveTo(end);
          return {};
        }
      }
      if (pos_ >= source_.size()) return ErrorAt(At(tag.begin), "this tag has no end");
      RETURN_IF_ERROR(OneToken(&brackets));
    }
  }

  std::size_t AfterVariable(std::size_t at) const {
    if (StartsWith(at, "-}}")) return SkipSpace(at + 3);
    return StartsWith(at, "}}") ? at + 2 : std::string_view::npos;
  }

  Status OneToken(std::string* brackets) {
    if (const std::size_t after = SkipSpace(pos_); after != pos_) {
      pos_ = after;
      return {};
    }
    const char c = source_[pos_];
    if (IsDigitChar(c)) return Number();
    if (c == '\'' || c == '"') return StringLiteral(c);
    std::size_t next = pos_;
    if (const char32_t first = DecodeChar(source_, &next); IsWordChar(first)) return Name();
    return Operator(brackets);
  }

  Status Name() {
    std::size_t end = pos_;
    while (end < source_.size()) {
      std::size_t next = end;
      const char32_t c = DecodeChar(source_, &next);
      // Marks may continue an identifier, though they are no letters.
      if (!IsWordChar(c) &&
          (c < 0x80 || !IsIdentifier("a" + std::string(source_.substr(end, next - end)))))
        break;
      end = next;
    }
    const std::string_view name = source_.substr(pos_, end - pos_);
    if (!IsIdentifier(name)) {
      return ErrorAt(At(pos_), fmt::format("'{}' is no valid name", name));
    }
    Add(TokenKind::kName, pos_, name);
    pos_ = end;
    return {};
  }

  // \d(_?\d)* from `at`.
  std::size_t Digits(std::size_t at) const {
    if (at >= source_.size() || !IsDigitChar(source_[at])) return at;
    for (++at; at < source_.size(); ++at) {
      const bool joined =
          source_[at] == '_' && at + 1 < source_.size() && IsDigitChar(source_[at + 1]);
      if (!joined && !IsDigitChar(source_[at])) break;
    }
    return at;
  }

  // The end of the floating-point literal at pos_, or pos_ when it is none.
  std::size_t MatchFloat() const {
    if (pos_ > 0 && source_[pos_ - 1] == '.') return pos_;
    std::size_t end = Digits(pos_);
    bool real = false;
    if (StartsWith(end, ".") && Digits(end + 1) != end + 1) {
      end = Digits(end + 1);
      real = true;
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (SignAt(exponent)) ++exponent;
      if (const std::size_t after = Digits(exponent); after != exponent) return after;
    }
    return real ? end : pos_;
  }

  std::size_t MatchInteger() const {
    if (source_[pos_] != '0') return Digits(pos_);
    const char base =
        pos_ + 1 < source_.size() ? static_cast<char>(source_[pos_ + 1] | 0x20) : '\0';
    auto good = [base](char c) {
      if (base == 'b') return c == '0' || c == '1';
      if (base == 'o') return c >= '0' && c <= '7';
      return IsDigitChar(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
    };
    if (base == 'b' || base == 'o' || base == 'x') {
      std::size_t end = pos_ + 2;
      while (end < source_.size()) {
        const std::size_t digit = source_[end] == '_' ? end + 1 : end;
        if (digit >= source_.size() || !good(source_[digit])) break;
        end = digit + 1;
      }
      if (end > pos_ + 2) return end;
    }
    std::size_t end = pos_ + 1;  // zeros only: "012" is 0 and then 12
    while (end < source_.size()) {
      const std::size_t digit = source_[end] == '_' ? end + 1 : end;
      if (digit >= source_.size() || source_[digit] != '0') break;
      end = digit + 1;
    }
    return end;
  }

  Status Number() {
    Token token{.kind = TokenKind::kFloat, .position = At(pos_), .text = {}};
    std::size_t end = MatchFloat();
    if (end != pos_) {
      const auto value = ParseFloat(source_.substr(pos_, end - pos_));
      token.number = *value;
    } else {
      end = MatchInteger();
      const auto value = ParseInteger(source_.substr(pos_, end - pos_), 0);
      if (!value) {
        return ErrorAt(At(pos_), fmt::format("the integer {} does not fit in 64 bits",
                                             source_.substr(pos_, end - pos_)));
      }
      token.kind = TokenKind::kInteger;
      token.integer = *value;
    }
    tokens_.push_back(token);
    pos_ = end;
    return {};
  }

  Status StringLiteral(char quote) {
    std::size_t end = pos_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return ErrorAt(At(pos_), "this string has no end");
    const std::string_view body = source_.substr(pos_ + 1, end - pos_ - 1);
    std::string_view value = body;
    if (body.find('\\') != std::string_view::npos) {
      auto unescaped = UnescapeString(body);
      if (!unescaped.ok()) return ErrorAt(At(pos_), unescaped.error().message());
      char* copy = arena_->NewArray<char>(unescaped->size());
      if (copy == nullptr) return ErrorAt(At(pos_), "the template's strings are too large");
      std::memcpy(copy, unescaped->data(), unescaped->size());
      value = {copy, unescaped->size()};
    }
    Add(TokenKind::kString, pos_, value);
    pos_ = end + 1;
    return {};
  }

  Status Operator(std::string* brackets) {
    static constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kOne = "+-/*%~[](){}><=.:|,;";
    std::size_t length = 0;
    for (const std::string_view op : kTwo) {
      if (StartsWith(pos_, op)) length = 2;
    }
    if (length == 0 && kOne.find(source_[pos_]) != std::string_view::npos) length = 1;
    if (length == 0) {
      std::size_t next = pos_;
      DecodeChar(source_, &next);
      return ErrorAt(At(pos_),
                     fmt::format("unexpected character '{}'", source_.substr(pos_, next - pos_)));
    }
    const char c = source_[pos_];
    if (c == '(' || c == '[' || c == '{') {
      brackets->push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets->empty()) return ErrorAt(At(pos_), fmt::format("unexpected '{}'", c));
      if (brackets->back() != c) {
        return ErrorAt(At(pos_),
                       fmt::format("unexpected '{}', expected '{}'", c, brackets->back()));
      }
      brackets->pop_back();
    }
    Add(TokenKind::kOperator, pos_, source_.substr(pos_, length));
    pos_ += length;
    return {};
  }

  // Called with rising offsets but for errors, so it counts on from the last one.
  Position At(std::size_t offset) {
    if (offset < counted_) counted_ = line_start_ = 0, line_ = 1;
    for (; counted_ < offset; ++counted_) {
      if (source_[counted_] == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    }
    return {line_, static_cast<std::int32_t>(offset - line_start_) + 1};
  }

  void Add(TokenKind kind, std::size_t offset, std::string_view text) {
    tokens_.push_back({.kind = kind, .position = At(offset), .text = text});
  }

  const std::string_view source_;
  Arena* const arena_;
  std::vector<Token> tokens_;
  std::size_t pos_ = 0;
  bool line_starting_ = true;
  std::size_t counted_ = 0;
  std::size_t line_start_ = 0;
  std::int32_t line_ = 1;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source, Arena* arena) {
  return Lexer(source, arena).Run();
}

std::string NormalizeNewlines(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      result.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      result.push_back(source[i]);
    }
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

Error ErrorAt(Position position, std::string_view message) {
  return InvalidArgument("line {}, column {}: {}", position.line, position.column, message);
}

}  // namespace tonnage::chat
