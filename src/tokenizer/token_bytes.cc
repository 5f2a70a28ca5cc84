#include "tokenizer/token_bytes.h"

#include <optional>
#include <string_view>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/decode_stage.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

std::string DecodeTimes(const Tokenizer& tokenizer, TokenId id, std::size_t times) {
  const std::vector<TokenId> ids(times, id);
  auto text = tokenizer.Decode(ids, false);
  return text.ok() ? std::move(*text) : std::string();
}

}  // namespace

std::string TokenBytes(const Tokenizer& tokenizer, TokenId id) {
  const std::optional<std::string_view> token = tokenizer.DecodedToken(id, false);
  if (!token || tokenizer.IsSpecial(id)) return std::string(token.value_or(""));
  const std::string alone = DecodeTimes(tokenizer, id, 1);
  // Which of these spellings of bytes a tokenizer uses shows in what its decoder makes of them.
  if (const auto bytes = FromByteAlphabet(*token); bytes && ReplaceInvalidUtf8(*bytes) == alone) {
    return *bytes;
  }
  if (const int byte = ParseByteToken(*token); byte >= 0 && alone != *token) {
    return std::string(1, static_cast<char>(byte));
  }
  // Decoders treat the first token of a text in their own ways; the second shows what it adds.
  const std::string twice = DecodeTimes(tokenizer, id, 2);
  return twice.starts_with(alone) ? twice.substr(alone.size()) : alone;
}

}  // namespace tonnage
