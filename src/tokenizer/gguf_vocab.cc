#include "tokenizer/gguf_vocab.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tokenizer/bpe.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/byte_trie.h"
#include "tokenizer/decode_stage.h"
#include "tokenizer/gguf_pre.h"
#include "tokenizer/plamo.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocab.h"
#include "tokenizer/wordpiece.h"

namespace tonnage {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581

enum Type : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// Texts that end an answer in one family or another.
constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|calls|>",
    "<|flush|>", "<end_of_turn>", "<turn|>", "<|tool_response>", "<|endoftext|>", "<|end_of_text|>",
    "</s>", "<eos>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "[e~[", "<end_of_utterance>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    // A model that fills in the middle of a file ends it with these.
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>", "<|repo_name|>",
    "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>"};

bool IsEndText(std::string_view text) {
  return std::find(std::begin(kEndTexts), std::end(kEndTexts), text) != std::end(kEndTexts);
}

bool Contains(const GgufVocab& vocab, std::string_view text) {
  return std::find(vocab.tokens.begin(), vocab.tokens.end(), text) != vocab.tokens.end();
}

std::int32_t TypeOf(const GgufVocab& vocab, std::size_t id) {
  return vocab.types.empty() ? static_cast<std::int32_t>(kNormal) : vocab.types[id];
}

// The file's id, or the kind's own where the file names none that exists.
std::optional<TokenId> IdOr(const GgufVocab& vocab, std::optional<std::int64_t> id, int fallback) {
  const auto size = static_cast<std::int64_t>(vocab.tokens.size());
  if (id && *id >= 0 && *id < size) return static_cast<TokenId>(*id);
  if (fallback >= 0 && fallback < size) return fallback;
  return std::nullopt;
}

// --- What all kinds share
// ------------------------------------------------------------------------------------------------

Status CheckShape(GgufVocab& vocab) {
  if (vocab.tokens.empty()) return Unreadable("tokenizer.ggml.tokens is empty or missing");
  const auto check = [&](std::string_view what, std::size_t count) -> Status {
    if (count == 0 || count == vocab.tokens.size()) return {};
    return Unreadable("tokenizer.ggml.{} has {} entries for {} tokens", what, count,
                      vocab.tokens.size());
  };
  RETURN_IF_ERROR(check("scores", vocab.scores.size()));
  RETURN_IF_ERROR(check("token_type", vocab.types.size()));
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    std::string& token = vocab.tokens[id];
    if (token.empty()) token = fmt::format("[EMPTY_{}]", id);
    if (ValidUtf8Prefix(token) != token.size())
      return Unreadable("token {} is not valid UTF-8", id);
  }
  return {};
}

// "</s>" is ordinary text where another token ends the answer.
bool IsOrdinary(const GgufVocab& vocab, std::string_view text) {
  return text == "</s>" && (vocab.model == "plamo2" || Contains(vocab, "<|tool_response>"));
}

std::string Lowercase(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return text;
}

// White space that a family's special tokens take along; the files do not say it.
void SetStripping(const GgufVocab& vocab, AddedToken& token) {
  const std::string name = Lowercase(vocab.model_name);
  const bool phi3 =
      name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
  const bool mask = vocab.pre == "jina-v2-de" || vocab.pre == "jina-v2-es" ||
                    vocab.pre == "jina-v2-code" || vocab.architecture == "nomic-bert-moe" ||
                    vocab.architecture == "jina-bert-v3";
  if (phi3) {
    token.rstrip =
        token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
  }
  if (mask) token.lstrip = token.content == "<mask>";
  if (name.find("modern-bert") != std::string::npos) token.lstrip = token.content == "[MASK]";
}

std::vector<AddedToken> AddedTokens(const GgufVocab& vocab) {
  std::vector<AddedToken> added;
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& text = vocab.tokens[id];
    const std::int32_t type = TypeOf(vocab, id);
    const bool special =
        (type == kControl || type == kUnknown || IsEndText(text)) && !IsOrdinary(vocab, text);
    if (!special && type != kUserDefined) continue;
    AddedToken token{.content = text, .normalized = false, .special = special};
    SetStripping(vocab, token);
    added.push_back(std::move(token));
  }
  return added;
}

Result<std::unique_ptr<PostProcessor>> Surround(const TokenizerParts& parts, bool add_bos,
                                                bool add_eos) {
  std::vector<TokenId> before, after;
  if (add_bos) {
    if (!parts.bos) return Unreadable("add_bos_token is set, but there is no such token");
    before.push_back(*parts.bos);
  }
  if (add_eos) {
    if (!parts.eos) return Unreadable("add_eos_token is set, but there is no such token");
    after.push_back(*parts.eos);
  }
  return MakeSurroundPostProcessor(std::move(before), std::move(after));
}

std::vector<std::pair<std::string, TokenId>> NumberedTokens(const GgufVocab& vocab) {
  std::vector<std::pair<std::string, TokenId>> numbered;
  numbered.reserve(vocab.tokens.size());
  for (const std::string& token : vocab.tokens) {
    numbered.emplace_back(token, static_cast<TokenId>(numbered.size()));
  }
  return numbered;
}

// --- gpt2, gemma4: byte-pair
// ---------------------------------------------------------------------------------------------

// Merges whose parts or result are no tokens could only lead to text that has no id; they are left
// out.
std::vector<std::pair<std::string, std::string>> UsableMerges(const GgufVocab& vocab) {
  const std::unordered_set<std::string_view> known(vocab.tokens.begin(), vocab.tokens.end());
  std::vector<std::pair<std::string, std::string>> merges;
  merges.reserve(vocab.merges.size());
  for (const std::string& merge : vocab.merges) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string::npos) continue;
    std::string left = merge.substr(0, space), right = merge.substr(space + 1);
    if (known.contains(left) && known.contains(right) && known.contains(left + right)) {
      merges.emplace_back(std::move(left), std::move(right));
    }
  }
  return merges;
}

Result<TokenizerParts> BytePairParts(const GgufVocab& vocab) {
  const std::string_view pre = vocab.model == "gemma4" ? "gemma4" : std::string_view(vocab.pre);
  ASSIGN_OR_RETURN(const GgufPreTokenizer* row, FindGgufPreTokenizer(pre));
  if (vocab.merges.empty()) return Unreadable("tokenizer.ggml.merges is empty or missing");
  const GgufPreTokenizer::Traits& traits = row->traits;

  TokenizerParts parts;
  BpeOptions options;
  options.vocab = NumberedTokens(vocab);
  options.merges = UsableMerges(vocab);
  options.byte_fallback = traits.raw;
  options.ignore_merges = traits.ignore_merges;
  ASSIGN_OR_RETURN(parts.model, MakeBpe(std::move(options)));
  ASSIGN_OR_RETURN(auto steps, MakeCutSteps(*row));
  if (traits.raw) {
    parts.normalizer = MakeReplaceNormalizer(" ", std::string(kSpaceMark));
    std::vector<std::unique_ptr<Decoder>> decoders;
    decoders.push_back(MakeReplaceDecoder(std::string(kSpaceMark), " "));
    decoders.push_back(MakeByteFallbackDecoder());
    decoders.push_back(MakeFuseDecoder());
    parts.decoder = MakeDecoderSequence(std::move(decoders));
  } else {
    steps.push_back(MakeByteLevelPreTokenizer(false, false));
    parts.decoder = MakeByteLevelDecoder();
  }
  parts.pre_tokenizer = MakePreTokenizerSequence(std::move(steps));
  parts.bos = IdOr(vocab, vocab.bos_id, -1);
  parts.eos = IdOr(vocab, vocab.eos_id, -1);
  // Gemma 4's files say that they want no bos; the model does.
  const bool gemma = pre == "gemma4";
  const bool add_bos = gemma || vocab.add_bos.value_or(traits.add_bos && parts.bos);
  ASSIGN_OR_RETURN(parts.post_processor, Surround(parts, add_bos, vocab.add_eos.value_or(false)));
  return parts;
}

// --- llama, t5: SentencePiece
// --------------------------------------------------------------------------------------------

VocabPieceType PieceTypeOf(std::int32_t type) {
  return type >= kNormal && type <= kByte ? static_cast<VocabPieceType>(type)
                                          : VocabPieceType::kNormal;
}

SentencePieceVocab PiecesOf(const GgufVocab& vocab) {
  SentencePieceVocab pieces;
  pieces.pieces.reserve(vocab.tokens.size());
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    pieces.pieces.push_back({.text = vocab.tokens[id],
                             .score = vocab.scores.empty() ? 0 : vocab.scores[id],
                             .type = PieceTypeOf(TypeOf(vocab, id))});
  }
  pieces.bos_id = IdOr(vocab, vocab.bos_id, -1).value_or(-1);
  pieces.eos_id = IdOr(vocab, vocab.eos_id, -1).value_or(-1);
  return pieces;
}

Result<TokenizerParts> SentencePieceParts(const GgufVocab& vocab) {
  SentencePieceVocab pieces = PiecesOf(vocab);
  pieces.algorithm = SentencePieceVocab::Algorithm::kBpe;
  pieces.add_dummy_prefix = vocab.add_space_prefix.value_or(true);
  pieces.remove_extra_whitespaces = false;
  pieces.unk_id = IdOr(vocab, vocab.unk_id, 0).value_or(0);
  pieces.unk_surface = vocab.tokens[pieces.unk_id];
  pieces.bos_id = IdOr(vocab, vocab.bos_id, 1).value_or(-1);
  pieces.eos_id = IdOr(vocab, vocab.eos_id, 2).value_or(-1);
  std::size_t bytes = 0;
  for (VocabPiece& piece : pieces.pieces) {
    bytes += piece.type == VocabPieceType::kByte;
    // They are cut out of the text before; that apart they take part in merges like any other.
    if (piece.type == VocabPieceType::kUserDefined || piece.type == VocabPieceType::kUnused) {
      piece.type = VocabPieceType::kNormal;
    }
  }
  pieces.byte_fallback = bytes >= 256;
  ASSIGN_OR_RETURN(TokenizerParts parts, MakeSentencePieceParts(std::move(pieces)));
  ASSIGN_OR_RETURN(parts.post_processor,
                   Surround(parts, vocab.add_bos.value_or(true), vocab.add_eos.value_or(false)));
  return parts;
}

Result<TokenizerParts> UnigramParts(const GgufVocab& vocab) {
  SentencePieceVocab pieces = PiecesOf(vocab);
  pieces.algorithm = SentencePieceVocab::Algorithm::kUnigram;
  pieces.double_sums = true;
  pieces.precompiled_charsmap = vocab.precompiled_charsmap;
  pieces.add_dummy_prefix = vocab.add_space_prefix.value_or(false);
  pieces.remove_extra_whitespaces = vocab.remove_extra_whitespaces.value_or(false);
  pieces.unk_id = IdOr(vocab, vocab.unk_id, 2).value_or(0);
  pieces.unk_surface = vocab.tokens[pieces.unk_id];
  pieces.eos_id = IdOr(vocab, vocab.eos_id, 1).value_or(-1);
  ASSIGN_OR_RETURN(TokenizerParts parts, MakeSentencePieceParts(std::move(pieces)));
  ASSIGN_OR_RETURN(parts.post_processor,
                   Surround(parts, vocab.add_bos.value_or(false), vocab.add_eos.value_or(true)));
  return parts;
}

// --- bert: WordPiece
// -----------------------------------------------------------------------------------------------------

// In the file a token that begins a word carries a space mark, and one that continues it nothing;
// Hugging Face has it the other way round, with "##" before the latter.
std::string WordPieceSpelling(const std::string& token, std::int32_t type) {
  if (token.starts_with(kSpaceMark)) return token.substr(kSpaceMark.size());
  const bool bracketed = token.starts_with('[') && token.ends_with(']');
  return type == kNormal && !bracketed ? "##" + token : token;
}

Result<TokenizerParts> WordPieceParts(GgufVocab& vocab) {
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    vocab.tokens[id] = WordPieceSpelling(vocab.tokens[id], TypeOf(vocab, id));
  }
  const auto unk = IdOr(vocab, vocab.unk_id, 100);
  const auto cls = IdOr(vocab, vocab.bos_id ? vocab.bos_id : vocab.cls_id, 101);
  const auto sep = IdOr(vocab, vocab.sep_id, 102);
  if (!unk || !cls || !sep) return Unreadable("the unknown, cls or separator token is missing");
  TokenizerParts parts;
  ASSIGN_OR_RETURN(parts.model, MakeWordPiece({.vocab = NumberedTokens(vocab),
                                               .unk_token = vocab.tokens[*unk]}));
  parts.normalizer = MakeBertNormalizer(
      {.strip_accents = vocab.strip_accents, .lowercase = vocab.lowercase.value_or(true)});
  parts.pre_tokenizer = MakeBertPreTokenizer();
  parts.decoder = MakeWordPieceDecoder("##", true);
  parts.post_processor = MakeBertPostProcessor(*cls, *sep);
  parts.bos = cls;
  parts.eos = IdOr(vocab, vocab.eos_id, -1);
  return parts;
}

// --- plamo2
// --------------------------------------------------------------------------------------------------------------

Result<TokenizerParts> PlamoParts(const GgufVocab& vocab) {
  std::vector<PlamoRow> rows;
  rows.reserve(vocab.tokens.size());
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::int32_t type = TypeOf(vocab, id);
    rows.push_back({.text = vocab.tokens[id],
                    .score = vocab.scores.empty() ? 0.0 : vocab.scores[id],
                    .type = type == kByte      ? PlamoRow::Type::kByte
                            : type == kControl ? PlamoRow::Type::kControl
                            : type == kUnknown ? PlamoRow::Type::kUnknown
                                               : PlamoRow::Type::kNormal});
  }
  ASSIGN_OR_RETURN(TokenizerParts parts, MakePlamoParts(std::move(rows)));
  parts.bos = IdOr(vocab, vocab.bos_id, 1);
  parts.eos = IdOr(vocab, vocab.eos_id, 2);
  ASSIGN_OR_RETURN(parts.post_processor,
                   Surround(parts, vocab.add_bos.value_or(false), vocab.add_eos.value_or(false)));
  return parts;
}

// --- rwkv: the longest token that fits, from the left
// --------------------------------------------------------------------

// A token's bytes from its spelling with \t, \n, \r, \xFF and \\.
std::string Unescape(std::string_view token) {
  std::string bytes;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '\\' || i + 1 == token.size()) {
      bytes += token[i];
      continue;
    }
    const char c = token[++i];
    const int hex = c == 'x' && i + 2 < token.size()
                        ? ParseByteToken(fmt::format("<0x{}>", token.substr(i + 1, 2)))
                        : -1;
    if (hex >= 0) i += 2;
    bytes += hex >= 0   ? static_cast<char>(hex)
             : c == 't' ? '\t'
             : c == 'n' ? '\n'
             : c == 'r' ? '\r'
                        : c;
  }
  return bytes;
}

// Its tokens are spelled in the byte-level alphabet, so that any bytes can be named.
class LongestMatchModel : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> Make(const GgufVocab& vocab) {
    auto model = std::make_unique<LongestMatchModel>();
    std::vector<std::string> bytes;
    std::vector<std::pair<std::string, TokenId>> spelled;
    for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
      bytes.push_back(Unescape(vocab.tokens[id]));
      spelled.emplace_back(ToByteAlphabet(bytes.back()), static_cast<TokenId>(id));
    }
    std::vector<ByteTrie::Entry> entries;
    for (std::size_t id = 0; id < bytes.size(); ++id) {
      entries.emplace_back(bytes[id], static_cast<std::int32_t>(id));
    }
    model->trie_ = ByteTrie(entries);
    ASSIGN_OR_RETURN(model->vocab_, Vocab::Make(spelled));
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (model->trie_.LongestPrefix({&c, 1}) == 0) {
        return Unreadable("no token for the byte 0x{:02X}", byte);
      }
    }
    return std::unique_ptr<TokenModel>(std::move(model));
  }

  Status Encode(std::span<const Piece> pieces, ModelState*,
                std::vector<TokenId>& ids) const override {
    for (const Piece& piece : pieces) {
      for (std::string_view text = piece.text; !text.empty();) {
        std::size_t longest = 0;
        TokenId best = 0;
        trie_.ForEachPrefix(text, [&](std::size_t length, TokenId id) {
          longest = length;
          best = id;
        });
        ids.push_back(best);
        text.remove_prefix(longest);
      }
    }
    return {};
  }
  std::optional<TokenId> TokenToId(std::string_view token) const override {
    return vocab_.Find(token);
  }
  std::optional<std::string_view> IdToToken(TokenId id) const override { return vocab_.Token(id); }
  std::size_t vocab_size() const override { return vocab_.size(); }
  TokenId max_id() const override { return vocab_.max_id(); }

 private:
  ByteTrie trie_;
  Vocab vocab_;
};

Result<TokenizerParts> LongestMatchParts(const GgufVocab& vocab) {
  TokenizerParts parts;
  ASSIGN_OR_RETURN(parts.model, LongestMatchModel::Make(vocab));
  parts.decoder = MakeByteLevelDecoder();
  parts.bos = IdOr(vocab, vocab.bos_id, -1);
  parts.eos = IdOr(vocab, vocab.eos_id, -1);
  return parts;
}

Result<TokenizerParts> PartsOf(GgufVocab& vocab) {
  if (vocab.model == "gpt2" || vocab.model == "gemma4") return BytePairParts(vocab);
  if (vocab.model == "llama") return SentencePieceParts(vocab);
  if (vocab.model == "t5") return UnigramParts(vocab);
  if (vocab.model == "bert") return WordPieceParts(vocab);
  if (vocab.model == "plamo2") return PlamoParts(vocab);
  if (vocab.model == "rwkv") return LongestMatchParts(vocab);
  if (vocab.model.empty() || vocab.model == "none" || vocab.model == "no_vocab") {
    return Unreadable("the file has no vocabulary (tokenizer.ggml.model)");
  }
  return Unsupported(
      "the vocabulary kind \"{}\" (tokenizer.ggml.model); known are gpt2, llama, t5, bert, plamo2, "
      "rwkv, gemma4",
      vocab.model);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> MakeGgufTokenizer(GgufVocab vocab) {
  RETURN_IF_ERROR(CheckShape(vocab));
  ASSIGN_OR_RETURN(TokenizerParts parts, PartsOf(vocab));
  parts.added_tokens = AddedTokens(vocab);
  return Tokenizer::FromParts(std::move(parts));
}

std::vector<TokenId> GgufEndIds(const GgufVocab& vocab) {
  const bool spm = vocab.model == "llama" || vocab.model == "plamo2";
  std::vector<TokenId> ids;
  for (const auto& id : {IdOr(vocab, vocab.eos_id,
                              spm                   ? 2
                              : vocab.model == "t5" ? 1
                                                    : -1),
                         IdOr(vocab, vocab.eot_id, -1), IdOr(vocab, vocab.eom_id, -1)}) {
    if (id) ids.push_back(*id);
  }
  // In these families <|end|> ends a message within the answer, not the answer.
  const bool end_is_inner = (Contains(vocab, "<|return|>") && Contains(vocab, "<|call|>")) ||
                            (Contains(vocab, "<|calls|>") && Contains(vocab, "<|flush|>"));
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& text = vocab.tokens[id];
    if (!IsEndText(text) || IsOrdinary(vocab, text) || (end_is_inner && text == "<|end|>"))
      continue;
    ids.push_back(static_cast<TokenId>(id));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace tonnage
