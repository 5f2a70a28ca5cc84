#include "tokenizer/wordpiece.h"

#include "tokenizer/byte_trie.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocab.h"

namespace tonnage {
namespace {

// What both models share: a vocabulary and an unknown token, which may be missing from it.
class WordModel : public TokenModel {
 public:
  WordModel(Vocab vocab, std::string unk_token)
      : vocab_(std::move(vocab)),
        unk_token_(std::move(unk_token)),
        unk_id_(vocab_.Find(unk_token_)) {}

  Status Encode(std::span<const Piece> pieces, ModelState*,
                std::vector<TokenId>& ids) const override {
    for (const Piece& piece : pieces) {
      if (EncodeWord(piece.text, ids)) continue;
      if (!unk_id_) {
        return InvalidArgument("unknown word, and the unknown token `{}` is not in the vocabulary",
                               unk_token_);
      }
      ids.push_back(*unk_id_);
    }
    return {};
  }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    return vocab_.Find(token);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override { return vocab_.Token(id); }
  std::size_t vocab_size() const override { return vocab_.size(); }
  TokenId max_id() const override { return vocab_.max_id(); }

 protected:
  // False, and nothing appended, where the word is unknown.
  virtual bool EncodeWord(std::string_view word, std::vector<TokenId>& ids) const = 0;
  const Vocab& vocab() const { return vocab_; }

 private:
  Vocab vocab_;
  std::string unk_token_;
  std::optional<TokenId> unk_id_;
};

class WordPiece final : public WordModel {
 public:
  WordPiece(Vocab vocab, WordPieceOptions options)
      : WordModel(std::move(vocab), std::move(options.unk_token)),
        max_chars_(options.max_input_chars_per_word) {
    std::vector<ByteTrie::Entry> first, rest;
    this->vocab().ForEach([&](std::string_view token, TokenId id) {
      first.emplace_back(token, id);
      if (token.starts_with(options.continuing_subword_prefix)) {
        rest.emplace_back(token.substr(options.continuing_subword_prefix.size()), id);
      }
    });
    first_ = ByteTrie(first);
    rest_ = ByteTrie(rest);
  }

 protected:
  bool EncodeWord(std::string_view word, std::vector<TokenId>& ids) const override {
    if (CountChars(word) > max_chars_) return false;
    const std::size_t before = ids.size();
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t longest = 0;
      TokenId id = -1;
      (begin == 0 ? first_ : rest_)
          .ForEachPrefix(word.substr(begin), [&](std::size_t length, TokenId found) {
            longest = length;
            id = found;
          });
      if (longest == 0) {
        ids.resize(before);
        return false;
      }
      ids.push_back(id);
      begin += longest;
    }
    return true;
  }

 private:
  ByteTrie first_, rest_;  // tokens that start a word; those that go on, without their prefix
  std::size_t max_chars_;
};

class WordLevel final : public WordModel {
 public:
  using WordModel::WordModel;

 protected:
  bool EncodeWord(std::string_view word, std::vector<TokenId>& ids) const override {
    const std::optional<TokenId> id = vocab().Find(word);
    if (id) ids.push_back(*id);
    return id.has_value();
  }
};

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeWordPiece(WordPieceOptions options) {
  ASSIGN_OR_RETURN(Vocab vocab, Vocab::Make(options.vocab));
  return std::unique_ptr<TokenModel>(
      std::make_unique<WordPiece>(std::move(vocab), std::move(options)));
}

Result<std::unique_ptr<TokenModel>> MakeWordLevel(
    std::vector<std::pair<std::string, TokenId>> vocab, std::string unk_token) {
  ASSIGN_OR_RETURN(Vocab made, Vocab::Make(vocab));
  return std::unique_ptr<TokenModel>(
      std::make_unique<WordLevel>(std::move(made), std::move(unk_token)));
}

}  // namespace tonnage
