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

// `[CLS] text [SEP]`, as BertProcessing and RobertaProcessing both do for one text.
std::unique_ptr<PostProcessor> MakeBertPostProcessor(TokenId cls, TokenId sep);
// A text between fixed ids: the common use of TemplateProcessing.
std::unique_ptr<PostProcessor> MakeSurroundPostProcessor(std::vector<TokenId> before,
                                                         std::vector<TokenId> after);
std::unique_ptr<PostProcessor> MakePostProcessorSequence(
    std::vector<std::unique_ptr<PostProcessor>> steps);

Result<std::unique_ptr<PostProcessor>> PostProcessorFromJson(const Json& json);

}  // namespace tonnage
