#include "tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tokenizer/regex_syntax.h"
#include "tokenizer/scanner.h"
#include "tokenizer/text.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

class LiteralPattern final : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  Status FindAll(std::string_view text, std::vector<Match>& matches) const override {
    if (literal_.empty()) {
      for (std::size_t pos = 0; pos < text.size(); pos += CharLength(text[pos])) {
        matches.push_back({pos, pos});
      }
      matches.push_back({text.size(), text.size()});
      return {};
    }
    for (std::size_t pos = 0; (pos = text.find(literal_, pos)) != std::string_view::npos;) {
      matches.push_back({pos, pos + literal_.size()});
      pos += literal_.size();
    }
    return {};
  }

 private:
  std::string literal_;
};

class ScannerPattern final : public Pattern {
 public:
  explicit ScannerPattern(Scanner scanner) : scanner_(scanner) {}

  Status FindAll(std::string_view text, std::vector<Match>& matches) const override {
    for (std::size_t pos = 0; pos < text.size();) {
      const std::size_t end = scanner_(text, pos);
      if (end == pos) {
        pos += CharLength(text[pos]);
        continue;
      }
      matches.push_back({pos, end});
      pos = end;
    }
    return {};
  }

 private:
  Scanner scanner_;
};

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

class Pcre2Pattern final : public Pattern {
 public:
  // Steps of one match; a sound expression takes a few per character it looks at.
  static constexpr std::uint32_t kMatchLimit = 20'000'000;
  static constexpr std::uint32_t kHeapLimitKiB = 256 * 1024;
  static constexpr std::size_t kJitStackBytes = 32 * 1024 * 1024;

  static Result<std::unique_ptr<Pattern>> Make(std::string_view regex) {
    const Result<std::string> translated = ToPcre2(regex);
    if (!translated.ok())
      return translated.error().In(fmt::format("regular expression `{}`", regex));
    int error = 0;
    PCRE2_SIZE where = 0;
    auto pattern = std::make_unique<Pcre2Pattern>();
    using Context = std::unique_ptr<pcre2_compile_context, Freer<pcre2_compile_context_free>>;
    const Context context(pcre2_compile_context_create(nullptr));
    if (!context) return Internal("out of memory for a regular expression");
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pattern->code_.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
        PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &where, context.get()));
    if (!pattern->code_) {
      return Unsupported("regular expression `{}`: {}", regex, Message(error));
    }
    // Without JIT (some systems forbid it) matching is slower but the same.
    pcre2_jit_compile(pattern->code_.get(), PCRE2_JIT_COMPLETE);
    return std::unique_ptr<Pattern>(std::move(pattern));
  }

  Status FindAll(std::string_view text, std::vector<Match>& matches) const override {
    const std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>> data(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    const std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>> context(
        pcre2_match_context_create(nullptr));
    if (!data || !context) return Internal("out of memory for a regular expression");
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
    std::unique_ptr<pcre2_jit_stack, Freer<pcre2_jit_stack_free>> stack;

    std::size_t pos = 0;
    bool matched_before = false;  // and that match ended at last_end
    std::size_t last_end = 0;
    while (pos <= text.size()) {
      const int found =
          pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), pos,
                      PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) return {};
      if (found == PCRE2_ERROR_JIT_STACKLIMIT && !stack) {
        stack.reset(pcre2_jit_stack_create(64 * 1024, kJitStackBytes, nullptr));
        if (!stack) return Internal("out of memory for a regular expression");
        pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
        continue;
      }
      if (found < 0) {
        return InvalidArgument("a regular expression of the tokenizer gave up on this text: {}",
                               Message(found));
      }
      const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data.get());
      const std::size_t begin = match[0], end = match[1];
      if (begin == end && matched_before && end == last_end) {
        if (pos >= text.size()) return {};
        pos += CharLength(text[pos]);
        continue;
      }
      matches.push_back({begin, end});
      pos = last_end = end;
      matched_before = true;
    }
    return {};
  }

 private:
  static std::string Message(int error) {
    PCRE2_UCHAR buffer[256] = {};
    pcre2_get_error_message(error, buffer, sizeof(buffer));
    return reinterpret_cast<const char*>(buffer);
  }
  std::unique_ptr<pcre2_code, Freer<pcre2_code_free>> code_;
};

}  // namespace

std::unique_ptr<Pattern> MakeLiteralPattern(std::string literal) {
  return std::make_unique<LiteralPattern>(std::move(literal));
}

Result<std::unique_ptr<Pattern>> MakeRegexPattern(std::string_view regex) {
  if (const Scanner scanner = FindScanner(regex)) {
    return std::unique_ptr<Pattern>(std::make_unique<ScannerPattern>(scanner));
  }
  return Pcre2Pattern::Make(regex);
}

Result<std::unique_ptr<Pattern>> MakePcre2Pattern(std::string_view regex) {
  return Pcre2Pattern::Make(regex);
}

Result<std::string> ReplaceAll(const Pattern& pattern, std::string_view text,
                               std::string_view content) {
  std::vector<Match> matches;
  RETURN_IF_ERROR(pattern.FindAll(text, matches));
  if (matches.size() * content.size() > kMaxTextBytes) {
    return InvalidArgument("replacing makes a text of over {} bytes", kMaxTextBytes);
  }
  std::string out;
  std::size_t last = 0;
  for (const Match& match : matches) {
    out.append(text.substr(last, match.begin - last)).append(content);
    last = match.end;
  }
  out.append(text.substr(last));
  return out;
}

}  // namespace tonnage
