// Text of token ids as they come: what is appended is final and whole characters, and all of it
// together is what Tokenizer::Decode gives for all the ids. A token costs its own length, however
// many came before. Borrows the tokenizer; belongs to one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/decode_stage.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(&tokenizer), skip_special_(skip_special), stage_(tokenizer.NewDecodeStage()) {}

  // Appends to `out` what this token makes final. Ids that do not exist are passed over.
  Status Push(TokenId id, std::string& out);
  // Appends what is left, such as the replacement of a character that never ended. Nothing comes
  // after it.
  Status Finish(std::string& out);

 private:
  void Take(std::string& out);

  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::unique_ptr<DecodeStage> stage_;
  std::vector<DecodeChunk> chunks_;
};

}  // namespace tonnage
