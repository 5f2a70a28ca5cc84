#include "tokenizer/normalizer.h"

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/grapheme.h"
#include "tokenizer/pattern.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// Rebuilds a text character by character: rewrite(c, out) appends what becomes of c.
template <typename Rewrite>
void RewriteChars(Text& text, const Rewrite& rewrite) {
  const std::string_view view = text.view();
  std::string out;
  out.reserve(view.size());
  std::size_t first_bytes = 0;
  for (std::size_t pos = 0; pos < view.size();) {
    const bool of_first = pos < text.origin().first_bytes;
    rewrite(NextChar(view, pos), out);
    if (of_first) first_bytes = out.size();
  }
  text.Set(std::move(out), first_bytes);
}

Error TooLong() {
  return InvalidArgument("normalizing makes a text of over {} bytes", kMaxTextBytes);
}

void ToForm(NormalForm form, Text& text) {
  std::optional<std::string> changed = Normalized(form, text.view());
  if (!changed) return;
  std::size_t first_bytes = 0;
  if (const std::size_t first = text.origin().first_bytes; first > 0 && !changed->empty()) {
    const std::string_view head = text.view().substr(0, first);
    first_bytes = Normalized(form, head).value_or(std::string(head)).size();
    first_bytes = std::min(std::max(first_bytes, CharLength(changed->front())), changed->size());
  }
  text.Set(*std::move(changed), first_bytes);
}

void ToLowercase(Text& text) {
  RewriteChars(text, [](char32_t c, std::string& out) {
    const std::u32string_view lower = Lowercase(c);
    if (lower.empty()) AppendChar(out, c);
    for (const char32_t l : lower) AppendChar(out, l);
  });
}

void Remove(Text& text, std::uint32_t any_of) {
  const CharClasses& classes = CharClasses::Get();
  RewriteChars(text, [&](char32_t c, std::string& out) {
    if (!(classes[c] & any_of)) AppendChar(out, c);
  });
}

class UnicodeNormalizer final : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalForm form) : form_(form) {}
  Status Normalize(Text& text) const override {
    ToForm(form_, text);
    return {};
  }

 private:
  NormalForm form_;
};

class Nmt final : public Normalizer {
 public:
  Status Normalize(Text& text) const override {
    RewriteChars(text, [](char32_t c, std::string& out) {
      if (!IsRemoved(c)) AppendChar(out, IsSpace(c) ? U' ' : c);
    });
    return {};
  }

 private:
  static bool IsRemoved(char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
           c == 0x8F || c == 0x9F;
  }
  static bool IsSpace(char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xFEFF || c == 0xFFFD;
  }
};

class LowercaseNormalizer final : public Normalizer {
 public:
  Status Normalize(Text& text) const override {
    ToLowercase(text);
    return {};
  }
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Status Normalize(Text& text) const override {
    const std::string_view view = text.view();
    std::size_t begin = 0, end = view.size();
    while (left_ && begin < end && IsRustSpace(CharAt(view, begin)))
      begin += CharLength(view[begin]);
    while (right_ && end > begin && IsRustSpace(CharAt(view, PreviousChar(view, end)))) {
      end = PreviousChar(view, end);
    }
    text.Trim(begin, view.size() - end);
    return {};
  }

 private:
  bool left_, right_;
};

class StripAccents final : public Normalizer {
 public:
  Status Normalize(Text& text) const override {
    Remove(text, kCombiningMark);
    return {};
  }
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prepend) : prepend_(std::move(prepend)) {}
  Status Normalize(Text& text) const override {
    if (text.view().empty()) return {};
    const std::size_t first = text.origin().first_bytes;
    std::string out = prepend_;
    out += text.view();
    text.Set(std::move(out), first == 0 ? 0 : first + prepend_.size());
    return {};
  }

 private:
  std::string prepend_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status Normalize(Text& text) const override {
    const std::string_view view = text.view();
    if (view.empty()) return {};
    std::vector<Match> matches;
    RETURN_IF_ERROR(pattern_->FindAll(view, matches));
    if (matches.empty()) return {};
    if (matches.size() * content_.size() > kMaxTextBytes) return TooLong();
    std::string out;
    out.reserve(view.size() + matches.size() * content_.size());
    const std::size_t first = text.origin().first_bytes;
    std::size_t last = 0, first_bytes = 0;
    for (const Match& match : matches) {
      out += view.substr(last, match.begin - last);
      if (last < first) first_bytes = out.size() - (match.begin > first ? match.begin - first : 0);
      out += content_;
      // What is put in counts to the character before its end; at the very beginning, to the first
      // one.
      const bool of_first = match.end == 0 ? text.origin().at_start : match.end - 1 < first;
      if (of_first) first_bytes = out.size();
      last = match.end;
    }
    if (last < first) first_bytes = out.size() + first - last;
    out += view.substr(last);
    text.Set(std::move(out), first_bytes);
    return {};
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

// A character of the new text, and what it is to the old one, as the reference counts: 0 replaces a
// character, a positive number is inserted, and -n replaces one while the n behind it vanish.
struct Change {
  char32_t c;
  std::ptrdiff_t change;
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}

  Status Normalize(Text& text) const override {
    const std::string_view view = text.view();
    std::vector<Change> changes;
    bool modified = false;
    for (std::size_t pos = 0; pos < view.size();) {
      if (changes.size() > kMaxTextBytes / sizeof(Change)) return TooLong();
      const std::size_t end = GraphemeEnd(view, pos);
      const std::string_view grapheme = view.substr(pos, end - pos);
      pos = end;
      // The reference looks up short clusters as a whole, and takes the shortest rule that starts
      // them.
      if (grapheme.size() < 6) {
        if (const auto replaced = map_.Transform(grapheme)) {
          modified = true;
          Replace(changes, grapheme, *replaced);
          continue;
        }
      }
      for (std::size_t at = 0; at < grapheme.size();) {
        const std::size_t begin = at;
        const char32_t c = NextChar(grapheme, at);
        const std::string_view part = grapheme.substr(begin, at - begin);
        if (const auto replaced = map_.Transform(part)) {
          modified = true;
          Replace(changes, part, *replaced);
        } else {
          changes.push_back({c, 0});
        }
      }
    }
    if (modified) Apply(changes, text);
    return {};
  }

 private:
  static void Replace(std::vector<Change>& changes, std::string_view from, std::string_view to) {
    for (std::size_t pos = 0; pos < to.size();) changes.push_back({NextChar(to, pos), 0});
    const auto more =
        static_cast<std::ptrdiff_t>(CountChars(to)) - static_cast<std::ptrdiff_t>(CountChars(from));
    for (std::ptrdiff_t i = 0; i < more; ++i) changes[changes.size() - 1 - i].change = 1;
    if (more < 0 && !changes.empty()) changes.back().change += more;
  }

  static void Apply(const std::vector<Change>& changes, Text& text) {
    const std::string_view old = text.view();
    const std::size_t first = text.origin().first_bytes;
    std::string out;
    out.reserve(old.size());
    std::size_t offset = 0, first_bytes = 0;  // offset: how much of the old text is accounted for
    for (const Change& change : changes) {
      const bool of_first = change.change > 0
                                ? (offset == 0 ? text.origin().at_start : offset - 1 < first)
                                : offset < first;
      AppendChar(out, change.c);
      if (of_first) first_bytes = out.size();
      for (std::ptrdiff_t taken = change.change; taken <= 0 && offset < old.size(); ++taken) {
        offset += CharLength(old[offset]);
      }
    }
    text.Set(std::move(out), first_bytes);
  }

  Charsmap map_;
};

class Bert final : public Normalizer {
 public:
  explicit Bert(BertNormalizerOptions options) : options_(options) {}

  Status Normalize(Text& text) const override {
    if (options_.clean_text) CleanText(text);
    if (options_.handle_chinese_chars) {
      RewriteChars(text, [](char32_t c, std::string& out) {
        const bool chinese = IsChinese(c);
        if (chinese) out += ' ';
        AppendChar(out, c);
        if (chinese) out += ' ';
      });
    }
    if (options_.strip_accents.value_or(options_.lowercase)) {
      ToForm(NormalForm::kNfd, text);
      Remove(text, kNonspacingMark);
    }
    if (options_.lowercase) ToLowercase(text);
    return {};
  }

 private:
  static void CleanText(Text& text) {
    const CharClasses& classes = CharClasses::Get();
    RewriteChars(text, [&](char32_t c, std::string& out) {
      const std::uint32_t bits = classes[c];
      if (!(bits & kBertControl)) AppendChar(out, bits & kRustSpace ? U' ' : c);
    });
  }
  static bool IsChinese(char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
  }
  BertNormalizerOptions options_;
};

class ByteLevel final : public Normalizer {
 public:
  Status Normalize(Text& text) const override {
    const std::size_t first =
        ToByteAlphabet(text.view().substr(0, text.origin().first_bytes)).size();
    text.Set(ToByteAlphabet(text.view()), first);
    return {};
  }
};

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  Status Normalize(Text& text) const override {
    for (const auto& step : steps_) {
      RETURN_IF_ERROR(step->Normalize(text));
      if (text.view().size() > kMaxTextBytes) return TooLong();
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<Normalizer> MakeUnicodeNormalizer(NormalForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}
std::unique_ptr<Normalizer> MakeNmtNormalizer() { return std::make_unique<Nmt>(); }
std::unique_ptr<Normalizer> MakeLowercaseNormalizer() {
  return std::make_unique<LowercaseNormalizer>();
}
std::unique_ptr<Normalizer> MakeStripNormalizer(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
std::unique_ptr<Normalizer> MakeStripAccentsNormalizer() {
  return std::make_unique<StripAccents>();
}
std::unique_ptr<Normalizer> MakePrependNormalizer(std::string prepend) {
  return std::make_unique<Prepend>(std::move(prepend));
}
std::unique_ptr<Normalizer> MakeReplaceNormalizer(std::string literal, std::string content) {
  return std::make_unique<Replace>(MakeLiteralPattern(std::move(literal)), std::move(content));
}
Result<std::unique_ptr<Normalizer>> MakeReplaceRegexNormalizer(std::string_view regex,
                                                               std::string content) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pattern> pattern, MakeRegexPattern(regex));
  return std::unique_ptr<Normalizer>(
      std::make_unique<Replace>(std::move(pattern), std::move(content)));
}
Result<std::unique_ptr<Normalizer>> MakePrecompiledNormalizer(std::string_view charsmap) {
  ASSIGN_OR_RETURN(Charsmap map, Charsmap::Parse(charsmap));
  return std::unique_ptr<Normalizer>(std::make_unique<Precompiled>(std::move(map)));
}
std::unique_ptr<Normalizer> MakeBertNormalizer(BertNormalizerOptions options) {
  return std::make_unique<Bert>(options);
}
std::unique_ptr<Normalizer> MakeByteLevelNormalizer() { return std::make_unique<ByteLevel>(); }
std::unique_ptr<Normalizer> MakeNormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

}  // namespace tonnage
