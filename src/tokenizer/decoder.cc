#include "tokenizer/decoder.h"

#include <functional>

#include "tokenizer/pattern.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// A decoder is no more than how its stage is made.
class StageDecoder final : public Decoder {
 public:
  using Maker = std::function<std::unique_ptr<DecodeStage>()>;
  explicit StageDecoder(Maker make) : make_(std::move(make)) {}
  std::unique_ptr<DecodeStage> NewStage() const override { return make_(); }

 private:
  Maker make_;
};

std::unique_ptr<Decoder> Of(StageDecoder::Maker make) {
  return std::make_unique<StageDecoder>(std::move(make));
}

std::unique_ptr<Decoder> ReplaceDecoder(std::shared_ptr<const Pattern> pattern,
                                        std::string content) {
  return Of([pattern = std::move(pattern), content = std::move(content)] {
    return MakeRewriteStage([pattern, content](std::string_view token) -> Result<std::string> {
      if (token.empty()) return std::string();
      return ReplaceAll(*pattern, token, content);
    });
  });
}

}  // namespace

std::unique_ptr<Decoder> MakeByteLevelDecoder() { return Of(MakeByteLevelStage); }
std::unique_ptr<Decoder> MakeReplaceDecoder(std::string literal, std::string content) {
  return ReplaceDecoder(MakeLiteralPattern(std::move(literal)), std::move(content));
}
Result<std::unique_ptr<Decoder>> MakeReplaceRegexDecoder(std::string_view regex,
                                                         std::string content) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pattern> pattern, MakeRegexPattern(regex));
  return ReplaceDecoder(std::move(pattern), std::move(content));
}
std::unique_ptr<Decoder> MakeWordPieceDecoder(std::string prefix, bool cleanup) {
  return Of([=] { return MakeWordPieceStage(prefix, cleanup); });
}
std::unique_ptr<Decoder> MakeByteFallbackDecoder() { return Of(MakeByteFallbackStage); }
std::unique_ptr<Decoder> MakeFuseDecoder() { return Of(MakeFuseStage); }
std::unique_ptr<Decoder> MakeStripDecoder(char32_t content, std::size_t start, std::size_t stop) {
  return Of([=] { return MakeStripStage(CharToString(content), start, stop); });
}
std::unique_ptr<Decoder> MakeMetaspaceDecoder(char32_t replacement, PrependScheme scheme) {
  return Of([=] {
    return MakeMetaspaceStage(CharToString(replacement), scheme != PrependScheme::kNever);
  });
}
std::unique_ptr<Decoder> MakeBpeDecoder(std::string suffix) {
  return Of([=] { return MakeBpeStage(suffix); });
}
std::unique_ptr<Decoder> MakeCtcDecoder(std::string pad_token, std::string word_delimiter_token,
                                        bool cleanup) {
  return Of([=] { return MakeCtcStage(pad_token, word_delimiter_token, cleanup); });
}
std::unique_ptr<Decoder> MakeDecoderSequence(std::vector<std::unique_ptr<Decoder>> steps) {
  const std::shared_ptr shared =
      std::make_shared<std::vector<std::unique_ptr<Decoder>>>(std::move(steps));
  return Of([shared] {
    std::vector<std::unique_ptr<DecodeStage>> stages;
    for (const auto& step : *shared) stages.push_back(step->NewStage());
    return MakeSequenceStage(std::move(stages));
  });
}

}  // namespace tonnage
