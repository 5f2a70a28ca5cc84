#include "tokenizer/tokenizer.h"

#include "tokenizer/stream_decoder.h"
#include "tokenizer/utf8.h"

namespace tonnage {

Result<std::unique_ptr<Tokenizer>> Tokenizer::FromParts(TokenizerParts parts) {
  if (parts.model == nullptr) return InvalidArgument("a tokenizer needs a model");
  if (parts.model->vocab_size() > INT32_MAX) return Unsupported("more tokens than ids");
  ASSIGN_OR_RETURN(
      AddedVocabulary added,
      AddedVocabulary::Make(std::move(parts.added_tokens), *parts.model, parts.normalizer.get()));
  if (parts.pre_tokenizer && parts.pre_tokenizer->ends_with_byte_level() &&
      parts.model->UseRawBytes()) {
    parts.pre_tokenizer->KeepRawBytes();
  }
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(parts), std::move(added)));
}

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text, bool add_special,
                                               bool parse_special) const {
  if (text.size() > INT32_MAX) return InvalidArgument("a text of {} bytes", text.size());
  std::string repaired;
  if (ValidUtf8Prefix(text) != text.size()) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  std::vector<std::vector<TokenId>> sequences(1);
  std::unique_ptr<Workspace> workspace = TakeWorkspace();
  const Status status = EncodeText(text, parse_special, *workspace, sequences[0]);
  ReturnWorkspace(std::move(workspace));
  RETURN_IF_ERROR(status);
  if (parts_.post_processor) {
    RETURN_IF_ERROR(parts_.post_processor->Process(sequences, add_special));
  }
  if (sequences.empty()) return std::vector<TokenId>();
  for (std::size_t i = 1; i < sequences.size(); ++i) {
    sequences[0].insert(sequences[0].end(), sequences[i].begin(), sequences[i].end());
  }
  return std::move(sequences[0]);
}

Status Tokenizer::EncodeText(std::string_view text, bool parse_special, Workspace& workspace,
                             std::vector<TokenId>& ids) const {
  for (const AddedVocabulary::Part& raw : added_.SplitRaw(text, parse_special)) {
    if (raw.id >= 0) {
      ids.push_back(raw.id);
      continue;
    }
    Text normal(raw.text, {raw.begin == 0, raw.begin == 0 ? CharLength(raw.text[0]) : 0});
    if (parts_.normalizer) RETURN_IF_ERROR(parts_.normalizer->Normalize(normal));
    const Piece whole{normal.view(), normal.origin()};
    for (const AddedVocabulary::Part& part : added_.SplitNormalized(normal.view(), parse_special)) {
      if (part.id >= 0) {
        ids.push_back(part.id);
        continue;
      }
      workspace.pieces.Clear();
      workspace.pieces.pieces().push_back(whole.Slice(part.begin, part.begin + part.text.size()));
      if (parts_.pre_tokenizer) RETURN_IF_ERROR(parts_.pre_tokenizer->Split(workspace.pieces));
      RETURN_IF_ERROR(parts_.model->Encode(workspace.pieces.pieces(), workspace.state.get(), ids));
    }
  }
  return {};
}

Result<std::string> Tokenizer::Decode(std::span<const TokenId> ids, bool skip_special) const {
  StreamDecoder stream(*this, skip_special);
  std::string text;
  for (const TokenId id : ids) RETURN_IF_ERROR(stream.Push(id, text));
  RETURN_IF_ERROR(stream.Finish(text));
  return text;
}

std::optional<std::string_view> Tokenizer::DecodedToken(TokenId id, bool skip_special) const {
  if (skip_special && added_.IsSpecial(id)) return std::nullopt;
  if (const std::optional<std::string_view> token = added_.IdToToken(id)) return token;
  return parts_.model->IdToToken(id);
}

std::unique_ptr<DecodeStage> Tokenizer::NewDecodeStage() const {
  return parts_.decoder ? parts_.decoder->NewStage() : MakeSpacesStage();
}

std::size_t Tokenizer::vocab_size() const {
  return parts_.model->vocab_size() + added_.additional();
}

TokenId Tokenizer::max_id() const { return std::max(parts_.model->max_id(), added_.max_id()); }

std::optional<TokenId> Tokenizer::TokenToId(std::string_view token) const {
  if (const std::optional<TokenId> id = added_.TokenToId(token)) return id;
  return parts_.model->TokenToId(token);
}

std::optional<std::string> Tokenizer::IdToToken(TokenId id) const {
  std::optional<std::string_view> token = added_.IdToToken(id);
  if (!token) token = parts_.model->IdToToken(id);
  if (!token) return std::nullopt;
  return std::string(*token);
}

std::unique_ptr<Tokenizer::Workspace> Tokenizer::TakeWorkspace() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(idle_.back());
      idle_.pop_back();
      return workspace;
    }
  }
  auto workspace = std::make_unique<Workspace>();
  workspace->state = parts_.model->NewState();
  return workspace;
}

void Tokenizer::ReturnWorkspace(std::unique_ptr<Workspace> workspace) const {
  workspace->pieces.Clear();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(workspace));
}

}  // namespace tonnage
