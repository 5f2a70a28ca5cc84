// Pre-tokenizers: how a normalized text is cut into the pieces that the model encodes one by one.
// Each is immutable after it was made and may be used by any thread. The factories are the format's
// whole list.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/text.h"

namespace tonnage {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Splits every piece further. Errors only where a pattern cannot be matched within its limits.
  virtual Status Split(PieceList& list) const = 0;

  // Whether the last thing it does is to write every byte as a character of the byte-level
  // alphabet.
  virtual bool ends_with_byte_level() const { return false; }
  // Leaves that out: a model that reads raw bytes needs no detour through the alphabet.
  virtual void KeepRawBytes() {}
};

// What becomes of a delimiter.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
enum class PrependScheme { kFirst, kNever, kAlways };

std::unique_ptr<PreTokenizer> MakeBertPreTokenizer();
// Splits as GPT-2 does where `use_regex`, then writes bytes as characters of the byte-level
// alphabet.
std::unique_ptr<PreTokenizer> MakeByteLevelPreTokenizer(bool add_prefix_space, bool use_regex);
std::unique_ptr<PreTokenizer> MakeCharDelimiterSplit(char32_t delimiter);
std::unique_ptr<PreTokenizer> MakeMetaspacePreTokenizer(char32_t replacement, PrependScheme scheme,
                                                        bool split);
std::unique_ptr<PreTokenizer> MakeWhitespacePreTokenizer();
std::unique_ptr<PreTokenizer> MakeWhitespaceSplit();
std::unique_ptr<PreTokenizer> MakePunctuationPreTokenizer(SplitBehavior behavior);
std::unique_ptr<PreTokenizer> MakeDigitsPreTokenizer(bool individual_digits);
std::unique_ptr<PreTokenizer> MakeUnicodeScriptsPreTokenizer();
std::unique_ptr<PreTokenizer> MakeFixedLengthPreTokenizer(std::size_t length_chars);
std::unique_ptr<PreTokenizer> MakeSplitPreTokenizer(std::string literal, SplitBehavior behavior,
                                                    bool invert);
// `regex` in Oniguruma's (Ruby's) syntax, as tokenizer.json has it.
Result<std::unique_ptr<PreTokenizer>> MakeSplitRegexPreTokenizer(std::string_view regex,
                                                                 SplitBehavior behavior,
                                                                 bool invert);
std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps);

Result<std::unique_ptr<PreTokenizer>> PreTokenizerFromJson(const Json& json);

}  // namespace tonnage
