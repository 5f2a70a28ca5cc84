// Decoding as a stream: tokens go in one by one, and what can no longer change comes out. Decoding
// a whole list is the same stages run over all of it, so a stream and a whole text cannot differ. A
// stage is the state of one stream; it belongs to one thread at a time and borrows nothing but what
// its maker says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tonnage {

// A token, or a part of one where a stage makes one long token of many.
struct DecodeChunk {
  std::string text;
  bool begins = true;  // a token begins here
  bool ends = true;    // and ends here
};

class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  // Appends to `out` what is final now. Errors only where a pattern cannot be matched within its
  // limits.
  virtual Status Push(DecodeChunk chunk, std::vector<DecodeChunk>& out) = 0;
  // Nothing comes after this.
  virtual Status Finish(std::vector<DecodeChunk>& out) = 0;
};

// A stage that works on whole tokens: gathers the parts of those that come in parts.
class TokenStage : public DecodeStage {
 public:
  Status Push(DecodeChunk chunk, std::vector<DecodeChunk>& out) final;
  Status Finish(std::vector<DecodeChunk>& out) final;

 protected:
  virtual Status Token(std::string token, std::vector<DecodeChunk>& out) = 0;
  virtual Status End(std::vector<DecodeChunk>&) { return {}; }

 private:
  std::string open_;
  bool is_open_ = false;
};

// Bytes that come in arbitrary parts to valid UTF-8, as early as the bytes allow.
class Utf8Stream {
 public:
  // What of ill-formed input becomes one U+FFFD.
  enum class Replace {
    kMaximalPart,  // as the Unicode standard recommends
    kEachByte,
  };
  explicit Utf8Stream(Replace replace) : replace_(replace) {}
  // Appends what is final after `bytes`; with `last`, everything.
  void Push(std::string_view bytes, bool last, std::string& out);
  bool empty() const { return pending_.empty(); }

 private:
  Replace replace_;
  std::string pending_;  // at most the beginning of one character
};

// Hugging Face's decoders.
using TokenRewrite = std::function<Result<std::string>(std::string_view)>;
std::unique_ptr<DecodeStage> MakeRewriteStage(TokenRewrite rewrite);
std::unique_ptr<DecodeStage> MakeByteLevelStage();
std::unique_ptr<DecodeStage> MakeByteFallbackStage();
std::unique_ptr<DecodeStage> MakeFuseStage();
std::unique_ptr<DecodeStage> MakeStripStage(std::string content, std::size_t start,
                                            std::size_t stop);
// The mark becomes a space, or nothing in the first token where `drop_first`.
std::unique_ptr<DecodeStage> MakeMetaspaceStage(std::string mark, bool drop_first);
std::unique_ptr<DecodeStage> MakeWordPieceStage(std::string prefix, bool cleanup);
std::unique_ptr<DecodeStage> MakeBpeStage(std::string suffix);
std::unique_ptr<DecodeStage> MakeCtcStage(std::string pad, std::string delimiter, bool cleanup);
std::unique_ptr<DecodeStage> MakeSequenceStage(std::vector<std::unique_ptr<DecodeStage>> stages);
// What there is without a decoder: spaces between the tokens.
std::unique_ptr<DecodeStage> MakeSpacesStage();

// Runs a fresh stage over all the tokens of a text; what comes out replaces them.
Status RunStage(DecodeStage& stage, std::vector<std::string>& tokens);

// "<0x41>" -> 0x41; -1 for any other text.
int ParseByteToken(std::string_view token);

}  // namespace tonnage
