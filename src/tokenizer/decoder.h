// Decoders: from a list of tokens back to text. Each is immutable after it was made and may be used
// by any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/pre_tokenizer.h"

namespace tonnage {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Rewrites the list; the text is what remains of it, joined. Errors only where a pattern cannot
  // be matched.
  virtual Status Decode(std::vector<std::string>& tokens) const = 0;
};

std::unique_ptr<Decoder> MakeByteLevelDecoder();
std::unique_ptr<Decoder> MakeReplaceDecoder(std::string literal, std::string content);
Result<std::unique_ptr<Decoder>> MakeReplaceRegexDecoder(std::string_view regex,
                                                         std::string content);
std::unique_ptr<Decoder> MakeWordPieceDecoder(std::string prefix, bool cleanup);
std::unique_ptr<Decoder> MakeByteFallbackDecoder();
std::unique_ptr<Decoder> MakeFuseDecoder();
std::unique_ptr<Decoder> MakeStripDecoder(char32_t content, std::size_t start, std::size_t stop);
std::unique_ptr<Decoder> MakeMetaspaceDecoder(char32_t replacement, PrependScheme scheme);
std::unique_ptr<Decoder> MakeBpeDecoder(std::string suffix);
std::unique_ptr<Decoder> MakeCtcDecoder(std::string pad_token, std::string word_delimiter_token,
                                        bool cleanup);
std::unique_ptr<Decoder> MakeDecoderSequence(std::vector<std::unique_ptr<Decoder>> steps);

Result<std::unique_ptr<Decoder>> DecoderFromJson(const Json& json);

}  // namespace tonnage
