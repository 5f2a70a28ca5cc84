// tokenizer.model files and the texts that they meet: the last line of the input is the text.
#include <cstdint>

#include "base/check.h"
#include "tokenizer/sentencepiece.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tonnage;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = input.rfind('\n');
  const std::string_view text = line == std::string_view::npos ? input : input.substr(line + 1);
  auto vocab = ParseSentencePieceModel(input.substr(0, line));
  if (!vocab.ok()) return 0;
  auto parts = MakeSentencePieceParts(*std::move(vocab));
  if (!parts.ok()) return 0;
  auto tokenizer = Tokenizer::FromParts(*std::move(parts));
  if (!tokenizer.ok()) return 0;
  const auto ids = (*tokenizer)->Encode(text, true);
  if (!ids.ok()) return 0;
  for (const TokenId id : *ids) CHECK(id >= 0 && id <= (*tokenizer)->max_id());
  CHECK((*tokenizer)->Decode(*ids, false).ok());
  return 0;
}
