#include "tokenizer/regex_syntax.h"

#include <cctype>
#include <vector>

#include "tokenizer/char_set.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

constexpr int kMaxDepth = 100;

// One pass over the expression, writing PCRE2's as it goes.
class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  Result<std::string> Run() {
    RETURN_IF_ERROR(Alternatives(0));
    if (!AtEnd()) return InvalidArgument("`)` without `(` at byte {}", pos_);
    if (named_groups_ && numbered_references_) {
      return Unsupported("numbered references beside named groups");
    }
    return std::move(out_);
  }

 private:
  bool AtEnd() const { return pos_ >= in_.size(); }
  bool Next(std::string_view what) const { return in_.substr(pos_).starts_with(what); }
  bool Take(std::string_view what) {
    if (!Next(what)) return false;
    pos_ += what.size();
    return true;
  }
  Error Refused(std::string_view what) const { return Unsupported("{} at byte {}", what, pos_); }

  // Everything up to the `)` that closes this group, or the end.
  Status Alternatives(int depth) {
    if (depth > kMaxDepth) return Refused("groups nested too deep");
    const bool extended = extended_;
    int opened = 0;  // groups opened by options such as (?i), which reach to the end of this one
    while (!AtEnd() && !Next(")")) {
      if (Take("|")) {
        out_ += '|';
        continue;
      }
      RETURN_IF_ERROR(Element(depth, opened));
    }
    out_.append(opened, ')');
    extended_ = extended;
    return {};
  }

  // Spaces and comments of an expression with the option x.
  bool SkipExtended() {
    const std::size_t from = pos_;
    while (extended_ && !AtEnd()) {
      if (in_[pos_] == '#') {
        while (!AtEnd() && in_[pos_] != '\n') ++pos_;
      } else if (std::isspace(static_cast<unsigned char>(in_[pos_]))) {
        ++pos_;
      } else {
        break;
      }
    }
    return pos_ > from;
  }

  // One element with its quantifiers.
  Status Element(int depth, int& opened) {
    if (SkipExtended()) return {};
    const std::size_t start = out_.size();
    const char c = in_[pos_];
    if (c == '(') {
      ++pos_;
      bool is_option = false;
      RETURN_IF_ERROR(Group(depth, opened, is_option));
      if (is_option) return {};
    } else if (c == '[') {
      ++pos_;
      ASSIGN_OR_RETURN(const std::string bracket, Bracket());
      out_ += bracket;
    } else if (c == '\\') {
      ++pos_;
      RETURN_IF_ERROR(Escape());
    } else if (c == '.' || c == '^' || c == '$') {
      out_ += in_[pos_++];
    } else if (c == '*' || c == '+' || c == '?') {
      return Refused("a quantifier without anything to repeat");
    } else {
      Literal(NextChar(in_, pos_));
    }
    return Quantifiers(start);
  }

  void Literal(char32_t c) {
    if (c < 0x80 && !std::isalnum(static_cast<int>(c))) {
      out_ += fmt::format("\\x{{{:x}}}", static_cast<unsigned>(c));
    } else {
      AppendChar(out_, c);
    }
  }

  Status Quantifiers(std::size_t start) {
    for (int count = 0;; ++count) {
      SkipExtended();
      std::string quantifier;
      if (Next("*") || Next("+") || Next("?")) {
        quantifier = in_[pos_++];
        // What follows makes it lazy or possessive.
        if (Next("?") || Next("+")) quantifier += in_[pos_++];
      } else if (!Interval(quantifier)) {
        return {};
      }
      // A further quantifier, as Ruby has it, repeats the whole thing.
      if (count > 0) Wrap(start);
      out_ += quantifier;
    }
  }

  void Wrap(std::size_t start) {
    out_.insert(start, "(?:");
    out_ += ')';
  }

  // {n}, {n,}, {,m} or {n,m}, with `?` behind it where that makes it lazy.
  bool Interval(std::string& quantifier) {
    if (!Next("{")) return false;
    std::size_t at = pos_ + 1;
    const auto digits = [&] {
      const std::size_t from = at;
      while (at < in_.size() && std::isdigit(static_cast<unsigned char>(in_[at]))) ++at;
      return std::string(in_.substr(from, at - from));
    };
    std::string low = digits(), high = low;
    const bool range = at < in_.size() && in_[at] == ',';
    if (range) {
      ++at;
      high = digits();
    }
    if (at >= in_.size() || in_[at] != '}' || (low.empty() && high.empty())) return false;
    pos_ = at + 1;
    quantifier = "{" + (low.empty() ? "0" : low) + (range ? "," + high : "") + "}";
    if (range && Take("?")) quantifier += '?';
    return true;
  }

  Status Group(int depth, int& opened, bool& is_option) {
    if (!Take("?")) {
      out_ += '(';
      return GroupBody(depth);
    }
    if (Take("#")) {
      while (!AtEnd() && in_[pos_] != ')') ++pos_;
      is_option = true;
      return Take(")") ? Status() : InvalidArgument("a comment without its `)`");
    }
    for (const std::string_view kind : {":", "=", "!", "<=", "<!", ">"}) {
      if (Take(kind)) {
        out_ += "(?";
        out_ += kind;
        return GroupBody(depth);
      }
    }
    if (Take("<")) {
      const std::size_t end = in_.find('>', pos_);
      if (end == std::string_view::npos) return InvalidArgument("a group name without its `>`");
      out_ += fmt::format("(?<{}>", in_.substr(pos_, end - pos_));
      pos_ = end + 1;
      named_groups_ = true;
      return GroupBody(depth);
    }
    return Options(depth, opened, is_option);
  }

  Status GroupBody(int depth) {
    RETURN_IF_ERROR(Alternatives(depth + 1));
    if (!Take(")")) return InvalidArgument("`(` without its `)`");
    out_ += ')';
    return {};
  }

  // (?imx-imx) and (?imx-imx:...). Ruby's m lets the dot match a newline, which PCRE2 calls s.
  Status Options(int depth, int& opened, bool& is_option) {
    std::string on, off;
    bool minus = false;
    const bool extended = extended_;
    while (!AtEnd() && in_[pos_] != ':' && in_[pos_] != ')') {
      const char c = in_[pos_];
      if (c == '-') {
        minus = true;
      } else if (c == 'i' || c == 'm') {
        (minus ? off : on) += c == 'm' ? 's' : 'i';
      } else if (c == 'x') {
        extended_ = !minus;
      } else {
        return Refused(fmt::format("the group (?{}", c));
      }
      ++pos_;
    }
    if (AtEnd()) return InvalidArgument("`(?` without its `)`");
    out_ += "(?" + on + (off.empty() ? "" : "-" + off) + ":";
    if (Take(":")) {
      RETURN_IF_ERROR(GroupBody(depth));
      extended_ = extended;
      return {};
    }
    ++pos_;
    ++opened;
    is_option = true;
    return {};
  }

  // After the backslash, outside brackets.
  Status Escape() {
    if (AtEnd()) return InvalidArgument("a backslash at the end");
    const char c = in_[pos_];
    switch (c) {
      case 'A':
      case 'z':
      case 'Z':
      case 'G':
        out_ += '\\';
        out_ += in_[pos_++];
        return {};
      case 'b':
      case 'B': {
        ++pos_;
        const std::string word = "[" + EscapeClass('w').pcre2 + "]";
        const std::string_view form = c == 'b' ? "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))"
                                               : "(?:(?<={0})(?={0})|(?<!{0})(?!{0}))";
        out_ += fmt::format(fmt::runtime(form), word);
        return {};
      }
      case 'R':
        ++pos_;
        out_ += "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])";
        return {};
      case 'k':
        if (in_.substr(pos_).starts_with("k<")) {
          const std::size_t end = in_.find('>', pos_);
          if (end == std::string_view::npos) return InvalidArgument("a reference without its `>`");
          out_ += fmt::format("\\k{}", in_.substr(pos_ + 1, end - pos_));
          pos_ = end + 1;
          return {};
        }
        return Refused("\\k without a name");
      case 'X':
      case 'K':
      case 'g':
      case 'N':
      case 'O':
      case 'y':
      case 'Y':
      case 'C':
      case 'M':
      case 'c':
        return Refused(fmt::format("\\{}", c));
      default:
        break;
    }
    if (c >= '1' && c <= '9') {
      std::size_t end = pos_;
      while (end < in_.size() && std::isdigit(static_cast<unsigned char>(in_[end]))) ++end;
      out_ += fmt::format("\\g{{{}}}", in_.substr(pos_, end - pos_));
      pos_ = end;
      numbered_references_ = true;
      return {};
    }
    bool negated = false;
    ASSIGN_OR_RETURN(const std::optional<CharClass> known, ClassEscape(negated));
    if (known) {
      out_ += negated ? "[^" : "[";
      out_ += known->pcre2 + "]";
      return {};
    }
    ASSIGN_OR_RETURN(const char32_t literal, CharEscape());
    Literal(literal);
    return {};
  }

  // \d \s \w \h \p{...} and their capitals; nothing where it is another escape. pos_ is behind the
  // backslash.
  Result<std::optional<CharClass>> ClassEscape(bool& negated) {
    const char c = in_[pos_];
    const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    negated = c != small;
    if (small == 'd' || small == 's' || small == 'w' || small == 'h') {
      ++pos_;
      return std::optional<CharClass>(EscapeClass(small));
    }
    if (small != 'p') return std::optional<CharClass>();
    // Without braces it is just the letter.
    if (pos_ + 1 >= in_.size() || in_[pos_ + 1] != '{') return std::optional<CharClass>();
    const std::size_t end = in_.find('}', pos_);
    if (end == std::string_view::npos) return InvalidArgument("a property without its `}}`");
    std::string_view name = in_.substr(pos_ + 2, end - pos_ - 2);
    pos_ = end + 1;
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    for (const char letter : name) {
      if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '_' && letter != ' ' &&
          letter != '-') {
        return Unsupported("the property \\p{{{}}}", name);
      }
    }
    ASSIGN_OR_RETURN(CharClass property, PropertyClass(name));
    return std::optional<CharClass>(std::move(property));
  }

  // An escape that stands for one character. pos_ is behind the backslash.
  Result<char32_t> CharEscape() {
    const char c = in_[pos_];
    switch (c) {
      case 't':
        ++pos_;
        return U'\t';
      case 'n':
        ++pos_;
        return U'\n';
      case 'r':
        ++pos_;
        return U'\r';
      case 'f':
        ++pos_;
        return U'\f';
      case 'v':
        ++pos_;
        return U'\v';
      case 'a':
        ++pos_;
        return U'\a';
      case 'e':
        ++pos_;
        return U'\x1B';
      case '0':
        return Number(1, 3, 8, 0x7F);
      case 'u':
        return Number(1, 5, 16, 0x10FFFF);
      case 'x':
        if (!Next("x{")) return Number(1, 3, 16, 0x7F);
        {
          const std::size_t end = in_.find('}', pos_);
          if (end == std::string_view::npos || end - pos_ > 10)
            return InvalidArgument("\\x{{ without its `}}`");
          ASSIGN_OR_RETURN(const char32_t value, Number(2, end - pos_, 16, 0x10FFFF));
          pos_ = end + 1;
          return value;
        }
      default:
        return NextChar(in_, pos_);
    }
  }

  // The digits from pos_ + skip up to pos_ + limit.
  Result<char32_t> Number(std::size_t skip, std::size_t limit, unsigned base, char32_t largest) {
    const std::size_t from = pos_;
    std::size_t at = pos_ + skip;
    char32_t value = 0;
    while (at < in_.size() && at < from + limit) {
      const char c = in_[at];
      const unsigned digit = c >= '0' && c <= '9'                           ? c - '0'
                             : std::isxdigit(static_cast<unsigned char>(c)) ? (c | 0x20) - 'a' + 10
                                                                            : 99;
      if (digit >= base) break;
      value = value * base + digit;
      ++at;
    }
    if (value > largest || (value >= 0xD800 && value < 0xE000)) {
      return Unsupported("the escape \\{}", in_.substr(from, at - from));
    }
    pos_ = at;
    return value;
  }

  // What one bracket holds. `set` is given up as soon as something in it is known to PCRE2 alone.
  struct Contents {
    std::string pcre2;
    std::optional<CharSet> set = CharSet();
    bool needs_set = false;  // PCRE2 cannot say it as it is written

    void Add(const CharClass& part) {
      pcre2 += part.pcre2;
      if (!part.set) set.reset();
      if (set) set->Add(*part.set);
    }
  };

  // Behind `[`, up to and with `]`, as a PCRE2 class.
  Result<std::string> Bracket() {
    bool negated = false;
    ASSIGN_OR_RETURN(const Contents contents, BracketContents(negated, 0));
    if (!contents.needs_set) return (negated ? "[^" : "[") + contents.pcre2 + "]";
    if (!contents.set) return Refused("a class that mixes scripts with negated or nested classes");
    const std::string ranges = RangesForPcre2(negated ? contents.set->Complement() : *contents.set);
    return ranges.empty() ? std::string("(?!)") : "[" + ranges + "]";
  }

  Result<Contents> BracketContents(bool& negated, int depth) {
    if (depth > kMaxDepth) return Refused("classes nested too deep");
    negated = Take("^");
    Contents contents;
    std::optional<CharSet> left;  // of `&&`
    bool first = true;
    while (true) {
      if (AtEnd()) return InvalidArgument("`[` without its `]`");
      if (!first && Take("]")) break;
      if (Take("&&")) {
        contents.needs_set = true;
        if (!contents.set) return Refused("a class with && over scripts");
        left = left ? left->Intersection(*contents.set) : *contents.set;
        contents.set = CharSet();
        first = false;
        continue;
      }
      RETURN_IF_ERROR(BracketItem(contents, depth));
      first = false;
    }
    if (contents.pcre2.empty()) contents.needs_set = true;
    if (left && contents.set) contents.set = left->Intersection(*contents.set);
    return contents;
  }

  Status BracketItem(Contents& contents, int depth) {
    if (Next("[:")) {
      const std::size_t end = in_.find(":]", pos_);
      if (end != std::string_view::npos) {
        ASSIGN_OR_RETURN(const CharClass posix, PosixClass(in_.substr(pos_ + 2, end - pos_ - 2)));
        pos_ = end + 2;
        contents.Add(posix);
        return {};
      }
    }
    if (Take("[")) {
      bool negated = false;
      ASSIGN_OR_RETURN(const Contents inner, BracketContents(negated, depth + 1));
      contents.needs_set |= negated || inner.needs_set;
      CharClass part{inner.pcre2, inner.set};
      if (negated && part.set) part.set = part.set->Complement();
      contents.Add(part);
      return {};
    }
    char32_t first = 0;
    if (Next("\\")) {
      ++pos_;
      if (AtEnd()) return InvalidArgument("a backslash at the end");
      bool negated = false;
      const char escape = in_[pos_];
      ASSIGN_OR_RETURN(std::optional<CharClass> known, ClassEscape(negated));
      if (known) {
        contents.needs_set |= negated;
        if (escape == 'w' || escape == 'W') {
          ASSIGN_OR_RETURN(known, PosixClass("word"));
        }
        if (negated && known->set) known->set = known->set->Complement();
        contents.Add(*known);
        return {};
      }
      ASSIGN_OR_RETURN(first, BracketCharEscape());
    } else {
      first = NextChar(in_, pos_);
    }
    char32_t last = first;
    if (Next("-") && pos_ + 1 < in_.size() && in_[pos_ + 1] != ']') {
      ++pos_;
      if (Next("[") ||
          (Next("\\") && pos_ + 1 < in_.size() &&
           std::string_view("dDsSwWhHpP").find(in_[pos_ + 1]) != std::string_view::npos)) {
        return Refused("a range that ends in a class");
      }
      if (Take("\\")) {
        if (AtEnd()) return InvalidArgument("a backslash at the end");
        ASSIGN_OR_RETURN(last, BracketCharEscape());
      } else {
        last = NextChar(in_, pos_);
      }
      if (last < first) return InvalidArgument("an empty range in a class at byte {}", pos_);
    }
    const CharSet range({{first, last}});
    contents.Add({RangesForPcre2(range), range});
    return {};
  }

  // Inside brackets, \b is the backspace.
  Result<char32_t> BracketCharEscape() {
    if (Take("b")) return U'\b';
    if (std::string_view("RXKGkcCM").find(in_[pos_]) != std::string_view::npos) {
      return Refused(fmt::format("\\{} in a class", in_[pos_]));
    }
    return CharEscape();
  }

  std::string_view in_;
  std::size_t pos_ = 0;
  std::string out_;
  bool extended_ = false;
  bool named_groups_ = false, numbered_references_ = false;
};

}  // namespace

Result<std::string> ToPcre2(std::string_view regex) {
  if (ValidUtf8Prefix(regex) != regex.size()) return InvalidArgument("it is not valid UTF-8");
  return Translator(regex).Run();
}

}  // namespace tonnage
