// Token ids to text as they come: what is appended is final, always whole characters, and all of it
// together is the text of all the ids. Borrows the tokenizer. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tonnage {

class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // Appends to `out` what this token makes final; special tokens have no text.
  Status Push(TokenId id, std::string& out);
  // Appends what is left, such as the beginning of a character that never ended.
  Status Finish(std::string& out);

 private:
  const Tokenizer* tokenizer_;
  // A decoder may treat the beginning of a text unlike the rest, so a token's text is what it adds
  // to the text of some tokens before it.
  std::vector<TokenId> window_;
  std::size_t given_ = 0;  // the first so many of window_ have been given out
};

}  // namespace tonnage
