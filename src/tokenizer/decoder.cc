#include "tokenizer/decoder.h"

#include <algorithm>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pattern.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// Every occurrence of `from` replaced; an empty one stands between all characters and at both ends.
std::string Replaced(std::string_view text, const std::string& from, std::string_view to) {
  return ReplaceAll(*MakeLiteralPattern(from), text, to).value();
}

class ByteLevel final : public Decoder {
 public:
  // A token with a character outside the alphabet is taken as it is.
  Status Decode(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      bytes += FromByteAlphabet(token).value_or(token);
    }
    tokens.assign(1, ReplaceInvalidUtf8(bytes));
    return {};
  }
};

class Replace final : public Decoder {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      if (token.empty()) continue;
      ASSIGN_OR_RETURN(token, ReplaceAll(*pattern_, token, content_));
    }
    return {};
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

// The spaces that English text does not have.
std::string CleanUp(std::string text) {
  constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) text = Replaced(text, from, to);
  return text;
}

class WordPiece final : public Decoder {
 public:
  WordPiece(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix_)) {
          tokens[i].erase(0, prefix_.size());
        } else {
          tokens[i].insert(0, " ");
        }
      }
      if (cleanup_) tokens[i] = CleanUp(std::move(tokens[i]));
    }
    return {};
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class ByteFallback final : public Decoder {
 public:
  // Tokens <0x00> to <0xFF> in a row become their text, or one U+FFFD each where they are none.
  Status Decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto flush = [&] {
      if (ValidUtf8Prefix(bytes) == bytes.size()) {
        if (!bytes.empty()) out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), CharToString(kReplacementCharacter));
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = ByteOf(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    tokens = std::move(out);
    return {};
  }

 private:
  static int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }
  // The reference's number parser also takes a plus sign for the first digit.
  static int ByteOf(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const int high = token[3] == '+' ? 0 : HexDigit(token[3]);
    const int low = HexDigit(token[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
  }
};

std::string Joined(const std::vector<std::string>& tokens) {
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

class Fuse final : public Decoder {
 public:
  Status Decode(std::vector<std::string>& tokens) const override {
    tokens.assign(1, Joined(tokens));
    return {};
  }
};

class Strip final : public Decoder {
 public:
  Strip(char32_t content, std::size_t start, std::size_t stop)
      : content_(content), start_(start), stop_(stop) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::u32string chars = tonnage::Decode(token);
      std::size_t begin = 0, end = chars.size();
      while (begin < std::min(start_, chars.size()) && chars[begin] == content_) ++begin;
      while (end > begin && chars.size() - end < stop_ && chars[end - 1] == content_) --end;
      token.clear();
      for (std::size_t i = begin; i < end; ++i) AppendChar(token, chars[i]);
    }
    return {};
  }

 private:
  char32_t content_;
  std::size_t start_, stop_;
};

class Metaspace final : public Decoder {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme)
      : replacement_(CharToString(replacement)), scheme_(scheme) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool vanishes = i == 0 && scheme_ != PrependScheme::kNever;
      tokens[i] = Replaced(tokens[i], replacement_, vanishes ? "" : " ");
    }
    return {};
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
};

class Bpe final : public Decoder {
 public:
  explicit Bpe(std::string suffix) : suffix_(std::move(suffix)) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = Replaced(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
    return {};
  }

 private:
  std::string suffix_;
};

class Ctc final : public Decoder {
 public:
  Ctc(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      token = Replaced(token, pad_, "");
      if (cleanup_) token = Replaced(CleanUp(std::move(token)), delimiter_, " ");
    }
    std::erase_if(tokens, [](const std::string& token) { return token.empty(); });
    return {};
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
};

class Sequence final : public Decoder {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) {}
  Status Decode(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) RETURN_IF_ERROR(step->Decode(tokens));
    return {};
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

}  // namespace

std::unique_ptr<Decoder> MakeByteLevelDecoder() { return std::make_unique<ByteLevel>(); }
std::unique_ptr<Decoder> MakeReplaceDecoder(std::string literal, std::string content) {
  return std::make_unique<Replace>(MakeLiteralPattern(std::move(literal)), std::move(content));
}
Result<std::unique_ptr<Decoder>> MakeReplaceRegexDecoder(std::string_view regex,
                                                         std::string content) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pattern> pattern, MakeRegexPattern(regex));
  return std::unique_ptr<Decoder>(
      std::make_unique<Replace>(std::move(pattern), std::move(content)));
}
std::unique_ptr<Decoder> MakeWordPieceDecoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPiece>(std::move(prefix), cleanup);
}
std::unique_ptr<Decoder> MakeByteFallbackDecoder() { return std::make_unique<ByteFallback>(); }
std::unique_ptr<Decoder> MakeFuseDecoder() { return std::make_unique<Fuse>(); }
std::unique_ptr<Decoder> MakeStripDecoder(char32_t content, std::size_t start, std::size_t stop) {
  return std::make_unique<Strip>(content, start, stop);
}
std::unique_ptr<Decoder> MakeMetaspaceDecoder(char32_t replacement, PrependScheme scheme) {
  return std::make_unique<Metaspace>(replacement, scheme);
}
std::unique_ptr<Decoder> MakeBpeDecoder(std::string suffix) {
  return std::make_unique<Bpe>(std::move(suffix));
}
std::unique_ptr<Decoder> MakeCtcDecoder(std::string pad_token, std::string word_delimiter_token,
                                        bool cleanup) {
  return std::make_unique<Ctc>(std::move(pad_token), std::move(word_delimiter_token), cleanup);
}
std::unique_ptr<Decoder> MakeDecoderSequence(std::vector<std::unique_ptr<Decoder>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

}  // namespace tonnage
