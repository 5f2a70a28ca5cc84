#include "tokenizer/decode_stage.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// An empty `from` stands between all characters and at both ends.
void ReplaceAll(std::string& text, const std::string& from, std::string_view to) {
  if (!from.empty() && text.find(from) == std::string::npos) return;
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t found = text.find(from, at);
    if (found == std::string::npos) break;
    out.append(text, at, found - at).append(to);
    at = found + from.size();
    if (from.empty()) {
      out.append(text, at, CharLength(text[at]));
      at += CharLength(text[at]);
    }
  }
  text = out.append(text, at);
  if (from.empty()) text += to;
}

// What English tokenizers put apart goes together again.
void CleanUp(std::string& text) {
  static const std::pair<std::string, std::string> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) ReplaceAll(text, from, to);
}

// How much of a character `text` begins with: its full length, and how many bytes of it are there
// and well formed.
struct CharPart {
  std::size_t length, present;
};
CharPart MeasureChar(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, 1};
  if (lead < 0xc2 || lead > 0xf4) return {1, 0};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  const std::uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const std::uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  std::size_t present = 1;
  while (present < std::min(length, text.size())) {
    const std::uint8_t next = byte(present);
    if (next < (present == 1 ? low : 0x80) || next > (present == 1 ? high : 0xbf)) break;
    ++present;
  }
  return {length, present};
}

class RewriteStage : public TokenStage {
 public:
  explicit RewriteStage(TokenRewrite rewrite) : rewrite_(std::move(rewrite)) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    ASSIGN_OR_RETURN(std::string text, rewrite_(token));
    out.push_back({std::move(text)});
    return {};
  }

 private:
  TokenRewrite rewrite_;
};

// Makes one long token: everything that follows is a part of the first.
class OneTokenStage : public TokenStage {
 protected:
  void Append(std::string text, bool last, std::vector<DecodeChunk>& out) {
    if (text.empty() && !last) return;
    out.push_back({std::move(text), std::exchange(first_, false), last});
  }

 private:
  bool first_ = true;
};

class ByteLevelStage : public OneTokenStage {
 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    const std::optional<std::string> bytes = FromByteAlphabet(token);
    std::string text;
    utf8_.Push(bytes ? *bytes : token, false, text);
    Append(std::move(text), false, out);
    return {};
  }
  Status End(std::vector<DecodeChunk>& out) override {
    std::string text;
    utf8_.Push({}, true, text);
    Append(std::move(text), true, out);
    return {};
  }

 private:
  Utf8Stream utf8_{Utf8Stream::Replace::kMaximalPart};
};

// A run of byte tokens is text if the whole of it is, else each byte is a replacement: final when
// the run ends.
class ByteFallbackStage : public TokenStage {
 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    if (const int byte = ByteOf(token); byte >= 0) {
      run_ += static_cast<char>(byte);
      return {};
    }
    EndRun(out);
    out.push_back({std::move(token)});
    return {};
  }
  Status End(std::vector<DecodeChunk>& out) override {
    EndRun(out);
    return {};
  }

 private:
  // The reference's number parser also takes a plus sign for the first digit.
  static int ByteOf(std::string_view token) {
    if (!token.starts_with("<0x+")) return ParseByteToken(token);
    return ParseByteToken(std::string("<0x0").append(token.substr(4)));
  }

  void EndRun(std::vector<DecodeChunk>& out) {
    if (run_.empty()) return;
    if (ValidUtf8Prefix(run_) == run_.size()) {
      out.push_back({run_});
    } else {
      for (std::size_t i = 0; i < run_.size(); ++i) out.push_back({std::string(kReplacement)});
    }
    run_.clear();
  }

  std::string run_;
};

class FuseStage : public DecodeStage {
 public:
  Status Push(DecodeChunk chunk, std::vector<DecodeChunk>& out) override {
    if (chunk.text.empty()) return {};
    out.push_back({std::move(chunk.text), std::exchange(first_, false), false});
    return {};
  }
  Status Finish(std::vector<DecodeChunk>& out) override {
    out.push_back({"", std::exchange(first_, false), true});
    return {};
  }

 private:
  bool first_ = true;
};

// Takes up to `start` contents off the front of each token and up to `stop` off its end; the latter
// wait for the end.
class StripStage : public DecodeStage {
 public:
  StripStage(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  Status Push(DecodeChunk chunk, std::vector<DecodeChunk>& out) override {
    if (chunk.begins) left_ = start_;
    std::string_view text = chunk.text;
    for (; left_ > 0 && text.starts_with(content_); --left_) text.remove_prefix(content_.size());
    if (!text.empty()) left_ = 0;
    std::string kept = std::exchange(held_, {}).append(text);
    std::size_t end = kept.size();
    for (std::size_t i = 0; i < stop_ && std::string_view(kept).substr(0, end).ends_with(content_);
         ++i) {
      end -= content_.size();
    }
    if (!chunk.ends) held_ = kept.substr(end);
    kept.resize(end);
    out.push_back({std::move(kept), chunk.begins, chunk.ends});
    return {};
  }
  Status Finish(std::vector<DecodeChunk>&) override { return {}; }

 private:
  std::string content_;
  std::size_t start_, stop_;
  std::size_t left_ = 0;  // how many may still go off the front of this token
  std::string held_;      // contents at the end of what came so far of this token
};

class MetaspaceStage : public TokenStage {
 public:
  MetaspaceStage(std::string mark, bool drop_first) : mark_(std::move(mark)), drop_(drop_first) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    ReplaceAll(token, mark_, std::exchange(drop_, false) ? "" : " ");
    out.push_back({std::move(token)});
    return {};
  }

 private:
  std::string mark_;
  bool drop_;
};

class WordPieceStage : public TokenStage {
 public:
  WordPieceStage(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    if (!std::exchange(first_, false)) {
      if (token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else {
        token.insert(0, " ");
      }
    }
    if (cleanup_) CleanUp(token);
    out.push_back({std::move(token)});
    return {};
  }

 private:
  std::string prefix_;
  bool cleanup_;
  bool first_ = true;
};

// The suffix is a space, except in the last token: one token waits.
class BpeStage : public TokenStage {
 public:
  explicit BpeStage(std::string suffix) : suffix_(std::move(suffix)) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    Release(" ", out);
    waiting_ = std::move(token);
    is_waiting_ = true;
    return {};
  }
  Status End(std::vector<DecodeChunk>& out) override {
    Release("", out);
    return {};
  }

 private:
  void Release(std::string_view replacement, std::vector<DecodeChunk>& out) {
    if (!std::exchange(is_waiting_, false)) return;
    ReplaceAll(waiting_, suffix_, replacement);
    out.push_back({std::move(waiting_)});
  }

  std::string suffix_, waiting_;
  bool is_waiting_ = false;
};

class CtcStage : public TokenStage {
 public:
  CtcStage(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    if (std::exchange(any_, true) && token == previous_) return {};
    previous_ = token;
    ReplaceAll(token, pad_, "");
    if (cleanup_) {
      CleanUp(token);
      ReplaceAll(token, delimiter_, " ");
    }
    if (!token.empty()) out.push_back({std::move(token)});
    return {};
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
  std::string previous_;
  bool any_ = false;
};

class SequenceStage : public DecodeStage {
 public:
  explicit SequenceStage(std::vector<std::unique_ptr<DecodeStage>> stages)
      : stages_(std::move(stages)) {}

  Status Push(DecodeChunk chunk, std::vector<DecodeChunk>& out) override {
    std::vector<DecodeChunk> chunks;
    chunks.push_back(std::move(chunk));
    return Through(0, std::move(chunks), out);
  }
  Status Finish(std::vector<DecodeChunk>& out) override {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      std::vector<DecodeChunk> chunks;
      RETURN_IF_ERROR(stages_[i]->Finish(chunks));
      RETURN_IF_ERROR(Through(i + 1, std::move(chunks), out));
    }
    return {};
  }

 private:
  // Passes the chunks through the stages from `first` on.
  Status Through(std::size_t first, std::vector<DecodeChunk> chunks,
                 std::vector<DecodeChunk>& out) {
    for (std::size_t i = first; i < stages_.size(); ++i) {
      std::vector<DecodeChunk> next;
      for (DecodeChunk& chunk : chunks) {
        RETURN_IF_ERROR(stages_[i]->Push(std::move(chunk), next));
      }
      chunks = std::move(next);
    }
    std::move(chunks.begin(), chunks.end(), std::back_inserter(out));
    return {};
  }

  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

class SpacesStage : public TokenStage {
 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    if (!std::exchange(first_, false)) token.insert(0, " ");
    out.push_back({std::move(token)});
    return {};
  }

 private:
  bool first_ = true;
};

}  // namespace

Status TokenStage::Push(DecodeChunk chunk, std::vector<DecodeChunk>& out) {
  if (chunk.begins && chunk.ends) return Token(std::move(chunk.text), out);
  open_ += chunk.text;
  is_open_ = !chunk.ends;
  return chunk.ends ? Token(std::exchange(open_, {}), out) : Status();
}

Status TokenStage::Finish(std::vector<DecodeChunk>& out) {
  if (std::exchange(is_open_, false)) RETURN_IF_ERROR(Token(std::exchange(open_, {}), out));
  return End(out);
}

void Utf8Stream::Push(std::string_view bytes, bool last, std::string& out) {
  if (!pending_.empty()) {
    pending_ += bytes;
    bytes = pending_;
  }
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view rest = bytes.substr(at);
    const CharPart part = MeasureChar(rest);
    if (part.present == part.length) {
      out += rest.substr(0, part.length);
      at += part.length;
    } else if (part.present == rest.size() && !last) {
      break;  // well formed so far: the next bytes may complete it
    } else {
      out += kReplacement;
      at += replace_ == Replace::kEachByte ? 1 : std::max<std::size_t>(part.present, 1);
    }
  }
  pending_ = std::string(bytes.substr(at));
}

Status RunStage(DecodeStage& stage, std::vector<std::string>& tokens) {
  std::vector<DecodeChunk> out;
  for (std::string& token : tokens) RETURN_IF_ERROR(stage.Push({std::move(token)}, out));
  RETURN_IF_ERROR(stage.Finish(out));
  tokens.clear();
  for (DecodeChunk& chunk : out) {
    if (chunk.begins || tokens.empty()) {
      tokens.push_back(std::move(chunk.text));
    } else {
      tokens.back() += chunk.text;
    }
  }
  return {};
}

int ParseByteToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::unique_ptr<DecodeStage> MakeRewriteStage(TokenRewrite rewrite) {
  return std::make_unique<RewriteStage>(std::move(rewrite));
}
std::unique_ptr<DecodeStage> MakeByteLevelStage() { return std::make_unique<ByteLevelStage>(); }
std::unique_ptr<DecodeStage> MakeByteFallbackStage() {
  return std::make_unique<ByteFallbackStage>();
}
std::unique_ptr<DecodeStage> MakeFuseStage() { return std::make_unique<FuseStage>(); }
std::unique_ptr<DecodeStage> MakeStripStage(std::string content, std::size_t start,
                                            std::size_t stop) {
  return std::make_unique<StripStage>(std::move(content), start, stop);
}
std::unique_ptr<DecodeStage> MakeMetaspaceStage(std::string mark, bool drop_first) {
  return std::make_unique<MetaspaceStage>(std::move(mark), drop_first);
}
std::unique_ptr<DecodeStage> MakeWordPieceStage(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceStage>(std::move(prefix), cleanup);
}
std::unique_ptr<DecodeStage> MakeBpeStage(std::string suffix) {
  return std::make_unique<BpeStage>(std::move(suffix));
}
std::unique_ptr<DecodeStage> MakeCtcStage(std::string pad, std::string delimiter, bool cleanup) {
  return std::make_unique<CtcStage>(std::move(pad), std::move(delimiter), cleanup);
}
std::unique_ptr<DecodeStage> MakeSequenceStage(std::vector<std::unique_ptr<DecodeStage>> stages) {
  return std::make_unique<SequenceStage>(std::move(stages));
}
std::unique_ptr<DecodeStage> MakeSpacesStage() { return std::make_unique<SpacesStage>(); }

}  // namespace tonnage
