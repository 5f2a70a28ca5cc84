// Decoders: from a list of tokens back to text. Each is immutable after it was made and may be used
// by any thread. A decoder is written once, as the stage of a stream (decode_stage.h); decoding a
// list runs such a stage over it, so streamed and whole text are the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/decode_stage.h"
#include "tokenizer/pre_tokenizer.h"

namespace tonnage {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // A stream of its own, which may outlive the decoder.
  virtual std::unique_ptr<DecodeStage> NewStage() const = 0;

  // Rewrites the list; the text is what remains of it, joined. Errors only where a pattern cannot
  // be matched.
  Status Decode(std::vector<std::string>& tokens) const { return RunStage(*NewStage(), tokens); }
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
