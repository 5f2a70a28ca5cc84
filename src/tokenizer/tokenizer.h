// A tokenizer: text to ids and back, exactly as Hugging Face's `tokenizers` does it. Encoding goes
// through added tokens, normalizer, pre-tokenizer, model and post-processor; decoding through the
// decoder. A Tokenizer owns its parts, is immutable, and may be used by any number of threads at
// once. Text that is not UTF-8 has its bad parts replaced by U+FFFD.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/decoder.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizer.h"

namespace tonnage {

struct TokenizerParts {
  std::unique_ptr<TokenModel> model;  // required; everything else may be missing
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;  // without one, tokens are joined by spaces
  std::vector<AddedToken> added_tokens;
  std::optional<TokenId> bos, eos;  // what the model's files call them; Encode does not use them
};

class Tokenizer {
 public:
  // From the text of a tokenizer.json and, where there is one, of the tokenizer_config.json beside
  // it. What they ask for and we do not have is refused by name.
  static Result<std::unique_ptr<Tokenizer>> FromJson(std::string_view tokenizer_json,
                                                     std::string_view tokenizer_config_json = {});
  static Result<std::unique_ptr<Tokenizer>> FromParts(TokenizerParts parts);

  // With `add_special`, what the post-processor adds is added. Never truncates and never pads.
  // Without `parse_special`, the text of a special token is text like any other: for what a user
  // wrote.
  Result<std::vector<TokenId>> Encode(std::string_view text, bool add_special,
                                      bool parse_special = true) const;
  // Ids that do not exist are passed over. With `skip_special`, special tokens are left out.
  Result<std::string> Decode(std::span<const TokenId> ids, bool skip_special) const;

  // For streams (stream_decoder.h): what the decoder sees of an id, or nothing where Decode passes
  // over it, and a fresh stage of the decoder.
  std::optional<std::string_view> DecodedToken(TokenId id, bool skip_special) const;
  std::unique_ptr<DecodeStage> NewDecodeStage() const;

  // Distinct tokens, added ones included.
  std::size_t vocab_size() const;
  TokenId max_id() const;
  std::optional<TokenId> TokenToId(std::string_view token) const;
  std::optional<std::string> IdToToken(TokenId id) const;
  bool IsSpecial(TokenId id) const { return added_.IsSpecial(id); }
  std::optional<TokenId> bos() const { return parts_.bos; }
  std::optional<TokenId> eos() const { return parts_.eos; }

  const TokenModel& model() const { return *parts_.model; }

 private:
  // What one call of Encode works with; kept for the next call, because the model's state remembers
  // words.
  struct Workspace {
    PieceList pieces;
    std::unique_ptr<ModelState> state;
  };
  Tokenizer(TokenizerParts parts, AddedVocabulary added)
      : parts_(std::move(parts)), added_(std::move(added)) {}
  Status ApplyConfig(const Json& tokenizer_config);
  Status EncodeText(std::string_view text, bool parse_special, Workspace& workspace,
                    std::vector<TokenId>& ids) const;
  std::unique_ptr<Workspace> TakeWorkspace() const;
  void ReturnWorkspace(std::unique_ptr<Workspace> workspace) const;

  TokenizerParts parts_;
  AddedVocabulary added_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;  // guarded by mutex_
};

}  // namespace tonnage
