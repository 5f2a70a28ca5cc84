#include "tokenizer/plamo.h"

#include <cmath>
#include <limits>

#include "base/json.h"
#include "tokenizer/decode_stage.h"

namespace tonnage {
namespace {

// Integer scores, as the reference has them: round(10,000 * score).
constexpr double kScoreScale = 1e4;
constexpr std::int64_t kInvalidCost = 20'000'000;  // a piece that costs as much never matches
constexpr std::int64_t kUnknownCost = 10'000'000;

Result<PlamoRow::Type> ParseType(std::string_view name) {
  if (name == "NORMAL") return PlamoRow::Type::kNormal;
  if (name == "BYTE") return PlamoRow::Type::kByte;
  if (name == "CONTROL") return PlamoRow::Type::kControl;
  if (name == "UNKNOWN") return PlamoRow::Type::kUnknown;
  return Unsupported("the row type \"{}\" is not known", name);
}

Result<PlamoRow> ParseRow(std::string_view line) {
  ASSIGN_OR_RETURN(const Json row, ParseJson(line, {.depth = 4}));
  if (!row.is_array() || row.size() < 2 || !row[0].is_string() || !row[1].is_number() ||
      (row.size() > 2 && !row[2].is_string())) {
    return Unreadable("a row must be [piece, score, type]");
  }
  PlamoRow result{.text = row[0].get<std::string>(), .score = row[1].get<double>()};
  if (row.size() > 2) {
    ASSIGN_OR_RETURN(result.type, ParseType(row[2].get_ref<const std::string&>()));
  }
  return result;
}

bool IsContinuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xc0) == 0x80; }

}  // namespace

Result<std::vector<PlamoRow>> ParsePlamoJsonl(std::string_view text) {
  std::vector<PlamoRow> rows;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && text.empty()) break;
    Result<PlamoRow> row = ParseRow(line);
    if (!row.ok()) return row.error().In(fmt::format("line {}", line_number));
    rows.push_back(*std::move(row));
  }
  if (rows.empty()) return Unreadable("no rows");
  return rows;
}

Result<Plamo> Plamo::Create(std::vector<PlamoRow> rows) {
  if (rows.size() > std::numeric_limits<int>::max()) return Unreadable("too many rows");
  Plamo result;
  result.rows_ = std::move(rows);
  result.costs_.assign(result.rows_.size(), kInvalidCost);
  result.byte_ids_.assign(256, -1);
  std::vector<ByteTrie::Entry> entries;
  for (int id = 0; id < static_cast<int>(result.rows_.size()); ++id) {
    const PlamoRow& row = result.rows_[id];
    if (!result.ids_.emplace(row.text, id).second) {
      return Unreadable("row {}: \"{}\" is there twice", id, row.text);
    }
    if (row.type == PlamoRow::Type::kByte) {
      const int byte = ParseByteToken(row.text);
      if (byte < 0) return Unreadable("row {}: \"{}\" is no byte token", id, row.text);
      result.byte_ids_[byte] = id;
    }
    if (row.type != PlamoRow::Type::kNormal) continue;
    const double scaled = std::nearbyint(row.score * kScoreScale);
    // Anything else, infinities and NaN too, can never be part of a split.
    if (!(std::fabs(scaled) < static_cast<double>(kInvalidCost))) continue;
    result.costs_[id] = -static_cast<std::int64_t>(scaled);
    entries.emplace_back(row.text, id);
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (result.byte_ids_[byte] < 0) return Unreadable("no byte token <0x{:02X}>", byte);
  }
  result.pieces_ = ByteTrie(entries);
  return result;
}

void Plamo::Encode(std::string_view text, std::vector<int>& ids) const {
  struct Best {
    std::int64_t cost = std::numeric_limits<std::int64_t>::max();
    std::size_t length = 0;
    int id = -1;  // -1: the character's bytes
  };
  std::vector<Best> from(text.size() + 1);  // the best split of the text from here on
  from[text.size()].cost = 0;
  std::size_t next = text.size();  // where the next character begins
  for (std::size_t at = text.size(); at-- > 0;) {
    if (at > 0 && IsContinuation(text[at]) && next - at < 4) continue;
    Best best;
    // Shortest first, so that of equal costs the longest piece stays.
    pieces_.ForEachPrefix(text.substr(at), [&](std::size_t length, int id) {
      const std::int64_t rest = from[at + length].cost;
      if (rest == std::numeric_limits<std::int64_t>::max()) return;  // not the end of a character
      if (costs_[id] + rest <= best.cost) best = {costs_[id] + rest, length, id};
    });
    const std::int64_t unknown = kUnknownCost + from[next].cost;
    if (unknown < best.cost) best = {unknown, next - at, -1};
    from[at] = best;
    next = at;
  }
  for (std::size_t at = 0; at < text.size(); at += from[at].length) {
    if (from[at].id >= 0) {
      ids.push_back(from[at].id);
      continue;
    }
    for (const char byte : text.substr(at, from[at].length)) {
      ids.push_back(byte_ids_[static_cast<std::uint8_t>(byte)]);
    }
  }
}

std::optional<TokenId> Plamo::Find(std::string_view text) const {
  const auto it = ids_.find(text);
  return it == ids_.end() ? std::nullopt : std::optional<TokenId>(it->second);
}

namespace {

using Shared = std::shared_ptr<const Plamo>;

class PlamoModel : public TokenModel {
 public:
  explicit PlamoModel(Shared plamo) : plamo_(std::move(plamo)) {}

  Status Encode(std::span<const Piece> pieces, ModelState*,
                std::vector<TokenId>& ids) const override {
    for (const Piece& piece : pieces) plamo_->Encode(piece.text, ids);
    return {};
  }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    return plamo_->Find(token);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override {
    if (id < 0 || id > max_id()) return std::nullopt;
    return plamo_->rows()[id].text;
  }
  std::size_t vocab_size() const override { return plamo_->rows().size(); }
  TokenId max_id() const override { return static_cast<TokenId>(vocab_size()) - 1; }

 private:
  Shared plamo_;
};

class PlamoStage : public TokenStage {
 public:
  explicit PlamoStage(Shared plamo) : plamo_(std::move(plamo)) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    const std::optional<TokenId> id = plamo_->Find(token);
    if (id && plamo_->rows()[*id].type == PlamoRow::Type::kByte) {
      token = static_cast<char>(ParseByteToken(token));
    }
    AppendText(token, false, out);
    return {};
  }
  Status End(std::vector<DecodeChunk>& out) override {
    AppendText({}, true, out);
    return {};
  }

 private:
  void AppendText(std::string_view bytes, bool last, std::vector<DecodeChunk>& out) {
    std::string text;
    bytes_.Push(bytes, last, text);
    if (!text.empty()) out.push_back({std::move(text)});
  }

  Shared plamo_;
  Utf8Stream bytes_{Utf8Stream::Replace::kMaximalPart};
};

class PlamoDecoder : public Decoder {
 public:
  explicit PlamoDecoder(Shared plamo) : plamo_(std::move(plamo)) {}
  std::unique_ptr<DecodeStage> NewStage() const override {
    return std::make_unique<PlamoStage>(plamo_);
  }

 private:
  Shared plamo_;
};

}  // namespace

Result<TokenizerParts> MakePlamoParts(std::vector<PlamoRow> rows) {
  ASSIGN_OR_RETURN(Plamo made, Plamo::Create(std::move(rows)));
  const auto plamo = std::make_shared<const Plamo>(std::move(made));
  TokenizerParts parts;
  parts.model = std::make_unique<PlamoModel>(plamo);
  parts.decoder = std::make_unique<PlamoDecoder>(plamo);
  for (const PlamoRow& row : plamo->rows()) {
    if (row.type != PlamoRow::Type::kControl && row.type != PlamoRow::Type::kUnknown) continue;
    parts.added_tokens.push_back({.content = row.text, .normalized = false, .special = true});
  }
  return parts;
}

}  // namespace tonnage
