// Post-processors: the special tokens around an encoded text. Immutable after they were made; any
// thread may use them. The reference also rewrites offsets and type ids here, which ids do not
// show, so those steps do nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/model.h"

namespace tonnage {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // `sequences` is one list of ids at first; a step may split it into several, and at the end they
  // are joined.
  virtual Status Process(std::vector<std::vector<TokenId>>& sequences, bool add_special) const = 0;
  // How many ids it adds to one text.
  virtual std::size_t added_tokens() const = 0;
};

// One piece of a template: a text, or fixed ids.
struct TemplatePiece {
  int sequence = -1;         // 0: the text, 1: a second one
  std::vector<TokenId> ids;  // where sequence is -1
};

// `[CLS] text [SEP]`.
std::unique_ptr<PostProcessor> MakeBertPostProcessor(TokenId cls, TokenId sep);
std::unique_ptr<PostProcessor> MakeRobertaPostProcessor(TokenId cls, TokenId sep);
// `pair` counts only behind a step that made two sequences.
std::unique_ptr<PostProcessor> MakeTemplatePostProcessor(std::vector<TemplatePiece> single,
                                                         std::vector<TemplatePiece> pair);
// A text between fixed ids: the common use of a template.
std::unique_ptr<PostProcessor> MakeSurroundPostProcessor(std::vector<TokenId> before,
                                                         std::vector<TokenId> after);
std::unique_ptr<PostProcessor> MakeByteLevelPostProcessor();
std::unique_ptr<PostProcessor> MakePostProcessorSequence(
    std::vector<std::unique_ptr<PostProcessor>> steps);

Result<std::unique_ptr<PostProcessor>> PostProcessorFromJson(const Json& json);

}  // namespace tonnage
