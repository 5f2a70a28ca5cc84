// PLaMo's tokenizer: unigram over code points, the cheapest split found from the right, unknown
// characters spelled in byte tokens; no normalization and no space prefix. Rows come from
// `tokenizer.jsonl` ([piece, score, type] a line) or from a GGUF vocabulary. Owns its pieces; const
// once made and safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/byte_trie.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

struct PlamoRow {
  enum class Type { kNormal, kByte, kControl, kUnknown };
  std::string text;
  double score = 0;
  Type type = Type::kNormal;
};

// Reads tokenizer.jsonl; an error names the line.
Result<std::vector<PlamoRow>> ParsePlamoJsonl(std::string_view text);

class Plamo {
 public:
  // Refuses rows without all 256 byte tokens ("<0x41>").
  Plamo() = default;
  Plamo(Plamo&&) = default;  // a copy's views would look into the original
  Plamo& operator=(Plamo&&) = default;
  static Result<Plamo> Create(std::vector<PlamoRow> rows);

  const std::vector<PlamoRow>& rows() const { return rows_; }
  std::optional<TokenId> Find(std::string_view text) const;
  // Appends the ids of `text`. Control and unknown rows match no text, as byte rows do not.
  void Encode(std::string_view text, std::vector<int>& ids) const;

 private:
  std::vector<PlamoRow> rows_;
  std::unordered_map<std::string_view, TokenId> ids_;
  std::vector<std::int64_t> costs_;  // by id, in 1/10,000; only of pieces that may match
  std::vector<int> byte_ids_;        // [256]
  ByteTrie pieces_;
};

// Model, decoder and, as special tokens, the control and unknown rows.
Result<TokenizerParts> MakePlamoParts(std::vector<PlamoRow> rows);

}  // namespace tonnage
