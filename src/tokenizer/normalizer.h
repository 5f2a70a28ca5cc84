// Normalizers: the first step of encoding, text to text. Each is immutable after it was made and
// may be used by any thread. The factories below are the format's whole list; FromJson reads one of
// them from a tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/normal_form.h"
#include "tokenizer/text.h"

namespace tonnage {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Errors only where a pattern cannot be matched within its limits.
  virtual Status Normalize(Text& text) const = 0;
};

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  std::optional<bool> strip_accents;  // as `lowercase` where it is not given
  bool lowercase = true;
};

std::unique_ptr<Normalizer> MakeUnicodeNormalizer(NormalForm form);
std::unique_ptr<Normalizer> MakeNmtNormalizer();
std::unique_ptr<Normalizer> MakeLowercaseNormalizer();
std::unique_ptr<Normalizer> MakeStripNormalizer(bool left, bool right);
std::unique_ptr<Normalizer> MakeStripAccentsNormalizer();
std::unique_ptr<Normalizer> MakePrependNormalizer(std::string prepend);
std::unique_ptr<Normalizer> MakeReplaceNormalizer(std::string literal, std::string content);
Result<std::unique_ptr<Normalizer>> MakeReplaceRegexNormalizer(std::string_view regex,
                                                               std::string content);
// `charsmap` is SentencePiece's compiled rule set, as bytes.
Result<std::unique_ptr<Normalizer>> MakePrecompiledNormalizer(std::string_view charsmap);
std::unique_ptr<Normalizer> MakeBertNormalizer(BertNormalizerOptions options);
std::unique_ptr<Normalizer> MakeByteLevelNormalizer();
std::unique_ptr<Normalizer> MakeNormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps);

Result<std::unique_ptr<Normalizer>> NormalizerFromJson(const Json& json);

}  // namespace tonnage
