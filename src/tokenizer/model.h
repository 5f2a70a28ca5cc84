// A model turns a piece of text into token ids. Models are immutable after they were made and may
// be used by any thread; what one call needs to remember between words lives in a ModelState, which
// belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/text.h"

namespace tonnage {

using TokenId = std::int32_t;

class ModelState {
 public:
  virtual ~ModelState() = default;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the ids of the pieces, in order. `state` comes from NewState of this model (and may be
  // null where that is).
  virtual Status Encode(std::span<const Piece> pieces, ModelState* state,
                        std::vector<TokenId>& ids) const = 0;
  virtual std::unique_ptr<ModelState> NewState() const { return nullptr; }

  virtual std::optional<TokenId> TokenToId(std::string_view token) const = 0;
  // The view lives as long as the model.
  virtual std::optional<std::string_view> IdToToken(TokenId id) const = 0;
  // How many distinct tokens there are; ids may have holes.
  virtual std::size_t vocab_size() const = 0;
  // The largest id, or -1.
  virtual TokenId max_id() const = 0;

  // Asks the model to read raw bytes instead of characters of the byte-level alphabet. False: it
  // cannot, or (some byte has no token) would give other ids. Called once, before the first Encode.
  virtual bool UseRawBytes() { return false; }
};

}  // namespace tonnage
