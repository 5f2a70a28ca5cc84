// The pre-tokenizers of GGUF's byte-pair vocabularies, by the names that `tokenizer.ggml.pre` uses:
// which patterns cut the text, and what else a name implies. A table; nothing is owned or
// allocated.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/pre_tokenizer.h"

namespace tonnage {

// One way of cutting text. The digit groups could be written as patterns with a look-ahead over the
// rest of the digits, but then a long number would cost the square of its length.
struct CutStep {
  enum class Kind {
    kPattern,              // matches, and what is between them, become pieces
    kNumbersInThrees,      // a run of \p{N} becomes pieces of three, counted from the right
    kWholeDigitsInThrees,  // the same for \d, and only for runs that a word boundary ends
    kCutsBetweenThrees,    // like the first for \d, without cutting a run from its neighbours
  };
  constexpr CutStep(const char* text)
      : pattern(text) {}                        // NOLINT: implicit, so that tables read well
  constexpr CutStep(Kind step) : kind(step) {}  // NOLINT

  Kind kind = Kind::kPattern;
  std::string_view pattern;
};

struct GgufPreTokenizer {
  struct Traits {
    bool ignore_merges = false;  // a piece that is a token is taken whole
    bool add_bos = false;        // unless the file says otherwise
    bool raw =
        false;  // the vocabulary is in UTF-8 with U+2581 for spaces, not in byte-level letters
  };
  std::string_view names;          // separated by spaces
  std::span<const CutStep> steps;  // each cuts the pieces of the one before
  Traits traits = {};
};

// An empty name means "default". Unknown names are refused.
Result<const GgufPreTokenizer*> FindGgufPreTokenizer(std::string_view name);
std::span<const GgufPreTokenizer> GgufPreTokenizers();

// Its steps, without the byte-level alphabet.
Result<std::vector<std::unique_ptr<PreTokenizer>>> MakeCutSteps(const GgufPreTokenizer& row);

}  // namespace tonnage
