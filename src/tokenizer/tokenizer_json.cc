// Tokenizer::FromJson: puts a tokenizer together from the files that a checkpoint brings.
#include <algorithm>

#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/unigram.h"
#include "tokenizer/wordpiece.h"

namespace tonnage {
namespace {

using ModelResult = Result<std::unique_ptr<TokenModel>>;

ModelResult ReadBpe(const Json& json, TokenizerFile& file) {
  if (!file.has_vocab || !file.has_merges)
    return Unreadable("`vocab` and `merges` must both be there");
  ASSIGN_OR_RETURN(const double dropout, JsonDouble(json, "dropout", 0));
  if (dropout != 0) return Unsupported("dropout {}: encoding would be random", dropout);
  BpeOptions options;
  options.vocab = std::move(file.vocab);
  options.merges = std::move(file.merges);
  if (JsonFind(json, "unk_token")) {
    ASSIGN_OR_RETURN(options.unk_token, JsonString(json, "unk_token", ""));
  }
  ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                   JsonString(json, "continuing_subword_prefix", ""));
  ASSIGN_OR_RETURN(options.end_of_word_suffix, JsonString(json, "end_of_word_suffix", ""));
  ASSIGN_OR_RETURN(options.fuse_unk, JsonBool(json, "fuse_unk", false));
  ASSIGN_OR_RETURN(options.byte_fallback, JsonBool(json, "byte_fallback", false));
  ASSIGN_OR_RETURN(options.ignore_merges, JsonBool(json, "ignore_merges", false));
  return MakeBpe(std::move(options));
}

ModelResult ReadUnigram(const Json& json, TokenizerFile& file) {
  if (!file.has_vocab) return Unreadable("`vocab` is missing");
  UnigramOptions options;
  options.vocab = std::move(file.scored_vocab);
  if (JsonFind(json, "unk_id")) {
    ASSIGN_OR_RETURN(const std::int64_t unk_id, JsonInt(json, "unk_id", 0));
    if (unk_id < 0 || unk_id > INT32_MAX) return Unreadable("unk_id {}", unk_id);
    options.unk_id = static_cast<TokenId>(unk_id);
  }
  ASSIGN_OR_RETURN(options.byte_fallback, JsonBool(json, "byte_fallback", false));
  return MakeUnigram(std::move(options));
}

ModelResult ReadWordPiece(const Json& json, TokenizerFile& file) {
  if (!file.has_vocab) return Unreadable("`vocab` is missing");
  WordPieceOptions options;
  options.vocab = std::move(file.vocab);
  ASSIGN_OR_RETURN(options.unk_token, JsonString(json, "unk_token", options.unk_token));
  ASSIGN_OR_RETURN(
      options.continuing_subword_prefix,
      JsonString(json, "continuing_subword_prefix", options.continuing_subword_prefix));
  ASSIGN_OR_RETURN(const std::int64_t chars, JsonInt(json, "max_input_chars_per_word", 100));
  if (chars < 0) return Unreadable("max_input_chars_per_word {}", chars);
  options.max_input_chars_per_word = static_cast<std::size_t>(chars);
  return MakeWordPiece(std::move(options));
}

ModelResult ReadWordLevel(const Json& json, TokenizerFile& file) {
  if (!file.has_vocab) return Unreadable("`vocab` is missing");
  ASSIGN_OR_RETURN(std::string unk_token, JsonString(json, "unk_token", "<unk>"));
  return MakeWordLevel(std::move(file.vocab), std::move(unk_token));
}

// Files of the format's first days have no type; what else is there tells.
std::string GuessModelType(const Json& model, const TokenizerFile& file) {
  if (file.has_merges) return "BPE";
  if (!file.scored_vocab.empty()) return "Unigram";
  return JsonFind(model, "continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

ModelResult ReadModel(TokenizerFile& file) {
  const Json* model = JsonFind(file.rest, "model");
  if (model == nullptr || !model->is_object()) return Unreadable("`model` is missing");
  ASSIGN_OR_RETURN(const std::string type,
                   JsonString(*model, "type", GuessModelType(*model, file)));
  ModelResult (*read)(const Json&, TokenizerFile&) = type == "BPE"         ? ReadBpe
                                                     : type == "Unigram"   ? ReadUnigram
                                                     : type == "WordPiece" ? ReadWordPiece
                                                     : type == "WordLevel" ? ReadWordLevel
                                                                           : nullptr;
  if (read == nullptr) return Unsupported("the model `{}`", type);
  ModelResult result = read(*model, file);
  if (!result.ok()) return result.error().In(fmt::format("model {}", type));
  return result;
}

// A token as text, or as an object with `content` and options.
Result<AddedToken> ReadAddedToken(const Json& json) {
  AddedToken token;
  if (json.is_string()) {
    token.content = json.get<std::string>();
    return token;
  }
  const Json* content = JsonFind(json, "content");
  if (content == nullptr || !content->is_string()) {
    return Unreadable("the added token {} has no content", DumpJson(json));
  }
  token.content = content->get<std::string>();
  ASSIGN_OR_RETURN(token.single_word, JsonBool(json, "single_word", false));
  ASSIGN_OR_RETURN(token.lstrip, JsonBool(json, "lstrip", false));
  ASSIGN_OR_RETURN(token.rstrip, JsonBool(json, "rstrip", false));
  ASSIGN_OR_RETURN(token.special, JsonBool(json, "special", false));
  ASSIGN_OR_RETURN(token.normalized, JsonBool(json, "normalized", !token.special));
  return token;
}

Status ReadAddedTokens(const Json& rest, std::vector<AddedToken>& tokens) {
  const Json* list = JsonFind(rest, "added_tokens");
  if (list == nullptr) return {};
  if (!list->is_array()) return Unreadable("`added_tokens` is not a list");
  for (const Json& item : *list) {
    ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(item));
    tokens.push_back(std::move(token));
  }
  return {};
}

// Tokens that only tokenizer_config.json knows, as older files have it: id -> token.
Status ReadAddedTokensDecoder(const Json& config, std::vector<AddedToken>& tokens) {
  const Json* decoder = JsonFind(config, "added_tokens_decoder");
  if (decoder == nullptr) return {};
  if (!decoder->is_object()) return Unreadable("`added_tokens_decoder` is not an object");
  std::unordered_map<std::string, bool> known;
  for (const AddedToken& token : tokens) known[token.content] = true;
  std::vector<std::pair<long long, AddedToken>> more;
  for (const auto& [id, item] : decoder->items()) {
    ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(item));
    if (!known.contains(token.content)) more.emplace_back(std::atoll(id.c_str()), std::move(token));
  }
  std::stable_sort(more.begin(), more.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [id, token] : more) tokens.push_back(std::move(token));
  return {};
}

// Reads `key` by `read` where it is there and not null.
template <typename T>
Status ReadPart(const Json& rest, std::string_view key,
                Result<std::unique_ptr<T>> (*read)(const Json&), std::unique_ptr<T>& part) {
  const Json* json = JsonFind(rest, key);
  if (json == nullptr) return {};
  ASSIGN_OR_RETURN(part, read(*json));
  return {};
}

// The id of a token that tokenizer_config.json names, such as bos_token.
Result<std::optional<TokenId>> NamedToken(const Json& config, std::string_view key,
                                          const Tokenizer& tokenizer) {
  const Json* json = JsonFind(config, key);
  if (json == nullptr) return std::optional<TokenId>();
  Result<AddedToken> token = ReadAddedToken(*json);
  if (!token.ok()) return token.error().In(key);
  return tokenizer.TokenToId(token->content);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(std::string_view tokenizer_json,
                                                       std::string_view tokenizer_config_json) {
  Result<TokenizerFile> file = ReadTokenizerFile(tokenizer_json);
  if (!file.ok()) return file.error().In("tokenizer.json");
  const Json& rest = file->rest;
  Json config = Json::object();
  if (!tokenizer_config_json.empty()) {
    Result<Json> parsed = ParseJson(tokenizer_config_json);
    if (!parsed.ok()) return parsed.error().In("tokenizer_config.json");
    config = std::move(parsed).value();
  }
  ASSIGN_OR_RETURN(const std::string version, JsonString(rest, "version", "1.0"));
  if (version != "1.0") return Unsupported("tokenizer.json: version `{}`", version);

  TokenizerParts parts;
  const Status read = [&]() -> Status {
    RETURN_IF_ERROR(ReadAddedTokens(rest, parts.added_tokens));
    RETURN_IF_ERROR(ReadPart<Normalizer>(rest, "normalizer", NormalizerFromJson, parts.normalizer));
    RETURN_IF_ERROR(
        ReadPart<PreTokenizer>(rest, "pre_tokenizer", PreTokenizerFromJson, parts.pre_tokenizer));
    RETURN_IF_ERROR(ReadPart<PostProcessor>(rest, "post_processor", PostProcessorFromJson,
                                            parts.post_processor));
    RETURN_IF_ERROR(ReadPart<Decoder>(rest, "decoder", DecoderFromJson, parts.decoder));
    ASSIGN_OR_RETURN(parts.model, ReadModel(*file));
    return {};
  }();
  if (!read.ok()) return read.error().In("tokenizer.json");
  if (const Status status = ReadAddedTokensDecoder(config, parts.added_tokens); !status.ok()) {
    return status.error().In("tokenizer_config.json");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, FromParts(std::move(parts)));
  RETURN_IF_ERROR(tokenizer->ApplyConfig(config));
  return tokenizer;
}

// What transformers takes from tokenizer_config.json: the names of bos and eos, and, only where
// tokenizer.json says nothing of special tokens, whether to add them.
Status Tokenizer::ApplyConfig(const Json& config) {
  ASSIGN_OR_RETURN(parts_.bos, NamedToken(config, "bos_token", *this));
  ASSIGN_OR_RETURN(parts_.eos, NamedToken(config, "eos_token", *this));
  if (parts_.post_processor) return {};
  ASSIGN_OR_RETURN(const bool add_bos, JsonBool(config, "add_bos_token", false));
  ASSIGN_OR_RETURN(const bool add_eos, JsonBool(config, "add_eos_token", false));
  std::vector<TokenId> before, after;
  if (add_bos && parts_.bos) before.push_back(*parts_.bos);
  if (add_eos && parts_.eos) after.push_back(*parts_.eos);
  if (!before.empty() || !after.empty()) {
    parts_.post_processor = MakeSurroundPostProcessor(std::move(before), std::move(after));
  }
  return {};
}

}  // namespace tonnage
