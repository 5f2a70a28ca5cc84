#include "tokenizer/tiktoken.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <queue>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/vocab.h"

namespace tonnage {
namespace {

// Patterns as their families publish them (`$` written as \z, Rust's class intersections as
// look-aheads).
struct NamedPattern {
  std::string_view name;
  std::string_view pattern;
};
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define NOT_HAN "(?!\\p{Han})"
constexpr NamedPattern kPatterns[] = {
    {"gpt2",
     "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+\\z|\\s+(?!\\S)|\\s"},
    {"cl100k_base",
     "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}"
     "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s+\\z|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
    {"o200k_base",
     "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTION "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER
     "+" LOWER "*" CONTRACTION "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES},
    {"qwen",
     CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES},
    {"llama3", CONTRACTION
     "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES},
    {"kimi-k2", "\\p{Han}+|[^\\r\\n\\p{L}\\p{N}]?(?:" NOT_HAN UPPER ")*(?:" NOT_HAN LOWER
                ")+" CONTRACTION "?|[^\\r\\n\\p{L}\\p{N}]?(?:" NOT_HAN UPPER ")+(?:" NOT_HAN LOWER
                ")*" CONTRACTION "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES},
};
#undef CONTRACTION
#undef SPACES
#undef UPPER
#undef LOWER
#undef NOT_HAN

// The value of a base64 digit, or -1.
int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Result<std::string> DecodeBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return Unreadable("\"{}\" is not base64", text);
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size() - padding; ++i) {
    const int digit = Base64Digit(text[i]);
    if (digit < 0) return Unreadable("\"{}\" is not base64", text);
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 == 1) bytes += static_cast<char>(bits >> 4);
    if (i % 4 == 2) bytes += static_cast<char>(bits >> 2);
    if (i % 4 == 3) bytes += static_cast<char>(bits);
  }
  return bytes;
}

Result<std::pair<std::string, int>> ParseLine(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return Unreadable("must be a token, a space and its rank");
  ASSIGN_OR_RETURN(std::string token, DecodeBase64(line.substr(0, space)));
  const std::string_view digits = line.substr(space + 1);
  int rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size() || rank < 0) {
    return Unreadable("\"{}\" is no rank", digits);
  }
  return std::pair{std::move(token), rank};
}

}  // namespace

Result<std::string_view> TiktokenPattern(std::string_view name) {
  std::string known;
  for (const NamedPattern& row : kPatterns) {
    if (row.name == name) return row.pattern;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return Unsupported("no tiktoken pattern is known for \"{}\" (known: {})", name, known);
}

Result<std::vector<std::pair<std::string, int>>> ParseTiktoken(std::string_view text) {
  std::vector<std::pair<std::string, int>> tokens;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    auto token = ParseLine(line);
    if (!token.ok()) return token.error().In(fmt::format("line {}", line_number));
    tokens.push_back(*std::move(token));
  }
  if (tokens.empty()) return Unreadable("no tokens");
  return tokens;
}

Result<TiktokenRanks> TiktokenRanks::Create(std::vector<std::pair<std::string, int>> tokens) {
  TiktokenRanks result;
  result.tokens_ = std::move(tokens);
  std::vector<int> ranks;
  for (const auto& [bytes, rank] : result.tokens_) {
    if (!result.ranks_.emplace(bytes, rank).second) {
      return Unreadable("the token of rank {} is there twice", rank);
    }
    ranks.push_back(rank);
    result.longest_bytes_ = std::max(result.longest_bytes_, bytes.size());
  }
  std::sort(ranks.begin(), ranks.end());
  if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end()) {
    return Unreadable("the rank {} is there twice", *twice);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (result.Rank({&c, 1}) < 0) return Unreadable("no token for the byte 0x{:02X}", byte);
  }
  return result;
}

int TiktokenRanks::Rank(std::string_view bytes) const {
  if (bytes.size() > longest_bytes_) return -1;
  const auto it = ranks_.find(bytes);
  return it == ranks_.end() ? -1 : it->second;
}

void TiktokenRanks::EncodePiece(std::string_view piece, std::vector<int>& ids) const {
  if (const int whole = Rank(piece); whole >= 0) {
    ids.push_back(whole);
    return;
  }
  struct Merge {
    int rank;
    std::size_t left,
        end;  // joins the part at `left` with its right neighbour, which ends at `end`
    bool operator<(const Merge& other) const {
      return rank > other.rank || (rank == other.rank && left > other.left);
    }
  };
  // Parts by the byte they begin at: length (0 when merged away) and where the one before begins.
  struct Part {
    std::size_t length = 1, previous = 0;
  };
  std::vector<Part> parts(piece.size());
  std::priority_queue<Merge> merges;
  const auto consider = [&](std::size_t left) {
    const std::size_t right = left + parts[left].length;
    if (right >= piece.size()) return;
    const std::size_t end = right + parts[right].length;
    const int rank = Rank(piece.substr(left, end - left));
    if (rank >= 0) merges.push({rank, left, end});
  };
  for (std::size_t at = 0; at < piece.size(); ++at) {
    parts[at].previous = at == 0 ? 0 : at - 1;
    consider(at);
  }
  while (!merges.empty()) {
    const Merge top = merges.top();
    merges.pop();
    const std::size_t right = top.left + parts[top.left].length;
    if (parts[top.left].length == 0 || right >= top.end || right + parts[right].length != top.end) {
      continue;  // a neighbour has changed since
    }
    parts[right].length = 0;
    parts[top.left].length = top.end - top.left;
    if (top.end < piece.size()) parts[top.end].previous = top.left;
    consider(top.left);
    if (top.left > 0) consider(parts[top.left].previous);
  }
  for (std::size_t at = 0; at < piece.size(); at += parts[at].length) {
    ids.push_back(Rank(piece.substr(at, parts[at].length)));
  }
}

namespace {

// The ranks as a model. Its tokens are spelled in the byte-level alphabet, so that any bytes can be
// named.
class TiktokenModel : public TokenModel {
 public:
  TiktokenModel(TiktokenRanks ranks, Vocab vocab)
      : ranks_(std::move(ranks)), vocab_(std::move(vocab)) {}

  Status Encode(std::span<const Piece> pieces, ModelState*,
                std::vector<TokenId>& ids) const override {
    for (const Piece& piece : pieces) ranks_.EncodePiece(piece.text, ids);
    return {};
  }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    return vocab_.Find(token);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override { return vocab_.Token(id); }
  std::size_t vocab_size() const override { return vocab_.size(); }
  TokenId max_id() const override { return vocab_.max_id(); }

 private:
  TiktokenRanks ranks_;
  Vocab vocab_;  // the special tokens too
};

}  // namespace

Result<TokenizerParts> MakeTiktokenParts(std::vector<std::pair<std::string, int>> tokens,
                                         std::string_view pattern,
                                         std::vector<std::pair<std::string, TokenId>> special) {
  TokenizerParts parts;
  std::vector<std::pair<std::string, TokenId>> spelled;
  for (const auto& [bytes, rank] : tokens) spelled.emplace_back(ToByteAlphabet(bytes), rank);
  for (const auto& [text, id] : special) {
    spelled.emplace_back(text, id);
    parts.added_tokens.push_back({.content = text, .normalized = false, .special = true});
  }
  ASSIGN_OR_RETURN(TiktokenRanks ranks, TiktokenRanks::Create(std::move(tokens)));
  ASSIGN_OR_RETURN(Vocab vocab, Vocab::Make(spelled));
  parts.model = std::make_unique<TiktokenModel>(std::move(ranks), std::move(vocab));
  ASSIGN_OR_RETURN(parts.pre_tokenizer,
                   MakeSplitRegexPreTokenizer(pattern, SplitBehavior::kIsolated, false));
  parts.decoder = MakeByteLevelDecoder();
  return parts;
}

}  // namespace tonnage
