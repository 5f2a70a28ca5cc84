#include "tokenizer/decode_stage.h"
#include "tokenizer/sentencepiece.h"

namespace tonnage {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581

using Shared = std::shared_ptr<const SentencePiece>;

class SentencePieceNormalizer : public Normalizer {
 public:
  explicit SentencePieceNormalizer(Shared pieces) : pieces_(std::move(pieces)) {}
  Status Normalize(Text& text) const override {
    text.Set(pieces_->Normalize(text.view(), text.origin().at_start), 0);
    return {};
  }

 private:
  Shared pieces_;
};

struct SentencePieceState : ModelState {
  WordMemory memory;
};

class SentencePieceModel : public TokenModel {
 public:
  explicit SentencePieceModel(Shared pieces) : pieces_(std::move(pieces)) {}

  Status Encode(std::span<const Piece> pieces, ModelState* state,
                std::vector<TokenId>& ids) const override {
    WordMemory* memory = &static_cast<SentencePieceState*>(state)->memory;
    for (const Piece& piece : pieces) pieces_->EncodeNormalized(piece.text, ids, memory);
    return {};
  }
  std::unique_ptr<ModelState> NewState() const override {
    return std::make_unique<SentencePieceState>();
  }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    const int id = pieces_->Find(token);
    return id < 0 ? std::nullopt : std::optional<TokenId>(id);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override {
    const std::vector<VocabPiece>& pieces = pieces_->vocab().pieces;
    if (id < 0 || id > max_id()) return std::nullopt;
    return pieces[id].text;
  }
  std::size_t vocab_size() const override { return pieces_->vocab().pieces.size(); }
  TokenId max_id() const override { return static_cast<TokenId>(vocab_size()) - 1; }

 private:
  Shared pieces_;
};

class SentencePieceStage : public TokenStage {
 public:
  explicit SentencePieceStage(Shared pieces) : pieces_(std::move(pieces)) {}

 protected:
  Status Token(std::string token, std::vector<DecodeChunk>& out) override {
    const SentencePieceVocab& vocab = pieces_->vocab();
    const int id = pieces_->Find(token);
    const VocabPieceType type = id < 0 ? VocabPieceType::kControl : vocab.pieces[id].type;
    std::string text;
    if (type == VocabPieceType::kByte) {
      const char byte = static_cast<char>(ParseByteToken(token));
      bytes_.Push({&byte, 1}, false, text);
      Append(std::move(text), out);
      return {};
    }
    bytes_.Push({}, true, text);
    Append(std::move(text), out);
    if (id == vocab.unk_id) {
      Append(vocab.unk_surface, out);
    } else if (type == VocabPieceType::kControl) {
      Append(std::move(token), out);
    } else {
      Append(Surface(token), out);
    }
    return {};
  }
  Status End(std::vector<DecodeChunk>& out) override {
    std::string text;
    bytes_.Push({}, true, text);
    Append(std::move(text), out);
    return {};
  }

 private:
  // A piece as text. The space that Normalize put before everything does not come back.
  std::string Surface(std::string_view piece) {
    const SentencePieceVocab& vocab = pieces_->vocab();
    if (at_start_ && (vocab.add_dummy_prefix || vocab.remove_extra_whitespaces) &&
        piece.starts_with(kSpaceMark)) {
      piece.remove_prefix(kSpaceMark.size());
      // Where Normalize takes away all leading spaces, a further one cannot have come from the text
      // either.
      at_start_ = vocab.remove_extra_whitespaces;
    }
    std::string text;
    for (std::size_t mark; (mark = piece.find(kSpaceMark)) != std::string_view::npos;) {
      text.append(piece.substr(0, mark)).append(" ");
      piece.remove_prefix(mark + kSpaceMark.size());
    }
    return text.append(piece);
  }

  void Append(std::string text, std::vector<DecodeChunk>& out) {
    if (text.empty()) return;
    at_start_ = false;
    out.push_back({std::move(text)});
  }

  Shared pieces_;
  Utf8Stream bytes_{Utf8Stream::Replace::kEachByte};
  bool at_start_ = true;
};

class SentencePieceDecoder : public Decoder {
 public:
  explicit SentencePieceDecoder(Shared pieces) : pieces_(std::move(pieces)) {}
  std::unique_ptr<DecodeStage> NewStage() const override {
    return std::make_unique<SentencePieceStage>(pieces_);
  }

 private:
  Shared pieces_;
};

}  // namespace

Result<TokenizerParts> MakeSentencePieceParts(SentencePieceVocab vocab) {
  ASSIGN_OR_RETURN(SentencePiece made, SentencePiece::Create(std::move(vocab)));
  const auto pieces = std::make_shared<const SentencePiece>(std::move(made));
  TokenizerParts parts;
  parts.model = std::make_unique<SentencePieceModel>(pieces);
  parts.normalizer = std::make_unique<SentencePieceNormalizer>(pieces);
  parts.decoder = std::make_unique<SentencePieceDecoder>(pieces);
  for (const VocabPiece& piece : pieces->vocab().pieces) {
    if (piece.type != VocabPieceType::kControl) continue;
    parts.added_tokens.push_back({.content = piece.text, .normalized = false, .special = true});
  }
  const auto known = [](int id) { return id < 0 ? std::nullopt : std::optional<TokenId>(id); };
  parts.bos = known(pieces->vocab().bos_id);
  parts.eos = known(pieces->vocab().eos_id);
  return parts;
}

}  // namespace tonnage
