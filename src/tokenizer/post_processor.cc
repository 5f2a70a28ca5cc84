#include "tokenizer/post_processor.h"

#include <algorithm>

namespace tonnage {
namespace {

using Sequences = std::vector<std::vector<TokenId>>;

class Bert final : public PostProcessor {
 public:
  Bert(TokenId cls, TokenId sep, bool separates_both)
      : cls_(cls), sep_(sep), separates_both_(separates_both) {}

  // Further sequences, which an earlier step may have made, end with the separator too (and
  // RoBERTa's begin with it).
  Status Process(Sequences& sequences, bool add_special) const override {
    if (!add_special) return {};
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::vector<TokenId>& ids = sequences[i];
      if (i == 0 || separates_both_) ids.insert(ids.begin(), i == 0 ? cls_ : sep_);
      ids.push_back(sep_);
    }
    return {};
  }
  std::size_t added_tokens() const override { return 2; }

 private:
  TokenId cls_, sep_;
  bool separates_both_;
};

class Template final : public PostProcessor {
 public:
  Template(std::vector<TemplatePiece> single, std::vector<TemplatePiece> pair)
      : single_(std::move(single)), pair_(std::move(pair)) {}

  Status Process(Sequences& sequences, bool add_special) const override {
    if (sequences.size() != 1 && sequences.size() != 2) {
      return InvalidArgument(
          "post_processor: a template cannot follow a step that made {} sequences",
          sequences.size());
    }
    Sequences out;
    for (const TemplatePiece& piece : sequences.size() == 1 ? single_ : pair_) {
      if (piece.sequence >= 0) {
        if (static_cast<std::size_t>(piece.sequence) >= sequences.size()) {
          return InvalidArgument("post_processor: the template for one text asks for a second one");
        }
        out.push_back(sequences[piece.sequence]);
      } else if (add_special) {
        out.push_back(piece.ids);
      }
    }
    sequences = std::move(out);
    return {};
  }
  std::size_t added_tokens() const override {
    std::size_t count = 0;
    for (const TemplatePiece& piece : single_) count += piece.ids.size();
    return count;
  }

 private:
  std::vector<TemplatePiece> single_, pair_;
};

// ByteLevel: it only trims offsets.
class Nothing final : public PostProcessor {
 public:
  Status Process(Sequences&, bool) const override { return {}; }
  std::size_t added_tokens() const override { return 0; }
};

class Sequence final : public PostProcessor {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PostProcessor>> steps) : steps_(std::move(steps)) {}
  Status Process(Sequences& sequences, bool add_special) const override {
    for (const auto& step : steps_) RETURN_IF_ERROR(step->Process(sequences, add_special));
    return {};
  }
  std::size_t added_tokens() const override {
    std::size_t count = 0;
    for (const auto& step : steps_) count += step->added_tokens();
    return count;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> steps_;
};

}  // namespace

std::unique_ptr<PostProcessor> MakeBertPostProcessor(TokenId cls, TokenId sep) {
  return std::make_unique<Bert>(cls, sep, false);
}
std::unique_ptr<PostProcessor> MakeRobertaPostProcessor(TokenId cls, TokenId sep) {
  return std::make_unique<Bert>(cls, sep, true);
}
std::unique_ptr<PostProcessor> MakeTemplatePostProcessor(std::vector<TemplatePiece> single,
                                                         std::vector<TemplatePiece> pair) {
  return std::make_unique<Template>(std::move(single), std::move(pair));
}
std::unique_ptr<PostProcessor> MakeSurroundPostProcessor(std::vector<TokenId> before,
                                                         std::vector<TokenId> after) {
  std::vector<TemplatePiece> pieces = {{-1, std::move(before)}, {0, {}}, {-1, std::move(after)}};
  return MakeTemplatePostProcessor(pieces, {});
}
std::unique_ptr<PostProcessor> MakeByteLevelPostProcessor() { return std::make_unique<Nothing>(); }
std::unique_ptr<PostProcessor> MakePostProcessorSequence(
    std::vector<std::unique_ptr<PostProcessor>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

}  // namespace tonnage
