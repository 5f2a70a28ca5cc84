// The bodies of the commands `tokenize` and `detokenize`: one JSON value a line in, one out. A line
// that cannot be done becomes {"error": "..."}. Pure functions of the tokenizer.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace tonnage {

// A string to an array of ids.
std::string TokenizeLine(const Tokenizer& tokenizer, std::string_view line, bool add_special);
// An array of ids to a string.
std::string DetokenizeLine(const Tokenizer& tokenizer, std::string_view line, bool skip_special);

}  // namespace tonnage
