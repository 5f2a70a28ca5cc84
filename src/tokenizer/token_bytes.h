// The bytes that one token stands for in the midst of a text: of half a character its half, where
// decoding the token alone could only give U+FFFD. A pure function.
#pragma once

#include <string>

#include "tokenizer/tokenizer.h"

namespace tonnage {

// Special tokens are their own text; an id that does not exist is empty.
std::string TokenBytes(const Tokenizer& tokenizer, TokenId id);

}  // namespace tonnage
