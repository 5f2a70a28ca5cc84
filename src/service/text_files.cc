#include "service/text_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "tokenizer/plamo.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tiktoken.h"

namespace tonnage {
namespace {

constexpr std::uintmax_t kLargestFileBytes = 1u << 30;

using SpecialTokens = std::vector<std::pair<std::string, TokenId>>;

// The text of a token that a config gives as a string or as an object with `content`; empty where
// there is none.
std::string TokenText(const Json& config, std::string_view key) {
  const Json* token = JsonFind(config, key);
  if (token != nullptr && token->is_object()) token = JsonFind(*token, "content");
  return token != nullptr && token->is_string() ? token->get<std::string>() : std::string();
}

// The config's `added_tokens_decoder`: id -> token, in the order of the ids.
Result<std::vector<std::pair<TokenId, AddedToken>>> ConfiguredTokens(const Json& config) {
  std::vector<std::pair<TokenId, AddedToken>> tokens;
  const Json* table = JsonFind(config, "added_tokens_decoder");
  if (table == nullptr) return tokens;
  if (!table->is_object())
    return Unreadable("tokenizer_config.json: added_tokens_decoder is no object");
  for (const auto& [key, value] : table->items()) {
    AddedToken token{.content = TokenText({{"token", value}}, "token")};
    TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || token.content.empty()) {
      return Unreadable("tokenizer_config.json: added_tokens_decoder has a bad entry \"{}\"", key);
    }
    ASSIGN_OR_RETURN(token.special, JsonBool(value, "special", false));
    ASSIGN_OR_RETURN(token.lstrip, JsonBool(value, "lstrip", false));
    ASSIGN_OR_RETURN(token.rstrip, JsonBool(value, "rstrip", false));
    ASSIGN_OR_RETURN(token.single_word, JsonBool(value, "single_word", false));
    token.normalized = false;
    tokens.emplace_back(id, std::move(token));
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return tokens;
}

// Adds bos and eos around a text where the config, or else the kind, wants it.
Status SetSurround(const Json& config, bool add_bos, bool add_eos, TokenizerParts& parts) {
  ASSIGN_OR_RETURN(add_bos, JsonBool(config, "add_bos_token", add_bos));
  ASSIGN_OR_RETURN(add_eos, JsonBool(config, "add_eos_token", add_eos));
  const auto find = [&](std::string_view key, std::optional<TokenId> known) {
    const std::string text = TokenText(config, key);
    return text.empty() ? known : parts.model->TokenToId(text);
  };
  parts.bos = find("bos_token", parts.bos);
  parts.eos = find("eos_token", parts.eos);
  std::vector<TokenId> before, after;
  if (add_bos && parts.bos) before.push_back(*parts.bos);
  if (add_eos && parts.eos) after.push_back(*parts.eos);
  parts.post_processor = MakeSurroundPostProcessor(std::move(before), std::move(after));
  return {};
}

// The tokens of the config beside those of the vocabulary. Ids are given in order from the
// vocabulary's size on, so the config's must be those.
Result<std::unique_ptr<Tokenizer>> WithConfiguredTokens(const Json& config, TokenizerParts parts) {
  ASSIGN_OR_RETURN(const auto configured, ConfiguredTokens(config));
  for (const auto& [id, token] : configured) {
    const auto same = std::find_if(
        parts.added_tokens.begin(), parts.added_tokens.end(),
        [&content = token.content](const AddedToken& t) { return t.content == content; });
    if (same == parts.added_tokens.end()) {
      parts.added_tokens.push_back(token);
    } else {
      *same = token;
    }
  }
  ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::FromParts(std::move(parts)));
  for (const auto& [id, token] : configured) {
    if (const auto given = tokenizer->TokenToId(token.content); given != id) {
      return Unsupported(
          "the added token \"{}\" has the id {}, which does not follow the vocabulary",
          token.content, id);
    }
  }
  return tokenizer;
}

// Classes that use the model's ids as they are. Others (those from fairseq, for one) shift them.
constexpr std::string_view kPlainSentencePieceClasses[] = {
    "",         "Llama",     "CodeLlama", "Gemma", "T5",     "PreTrained", "Baichuan",
    "InternLM", "InternLM2", "Yi",        "Orion", "Xverse", "MiniCPM",    "Mistral",
};

std::string TokenizerClass(const Json& config) {
  std::string name = TokenText(config, "tokenizer_class");
  for (const std::string_view suffix : {"Fast", "Tokenizer"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

// --- tiktoken: what its files do not say
// -------------------------------------------------------------------------------

SpecialTokens Numbered(TokenId first, const std::vector<std::string>& texts) {
  SpecialTokens tokens;
  for (const std::string& text : texts) tokens.emplace_back(text, first++);
  return tokens;
}

SpecialTokens Llama3Specials(TokenId first) {
  std::vector<std::string> texts = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|reserved_special_token_2|>",
                                    "<|reserved_special_token_3|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|reserved_special_token_4|>",
                                    "<|eot_id|>"};
  for (int i = 5; texts.size() < 256; ++i) {
    texts.push_back(fmt::format("<|reserved_special_token_{}|>", i));
  }
  return Numbered(first, texts);
}

SpecialTokens QwenSpecials(TokenId first) {
  std::vector<std::string> texts = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  for (int i = 0; i < 205; ++i) texts.push_back(fmt::format("<|extra_{}|>", i));
  return Numbered(first, texts);
}

SpecialTokens Cl100kSpecials(TokenId first) {
  SpecialTokens tokens =
      Numbered(first + 1, {"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"});
  tokens.emplace_back("<|endofprompt|>", first + 20);
  return tokens;
}

SpecialTokens O200kSpecials(TokenId first) {
  return {{"<|endoftext|>", first + 1}, {"<|endofprompt|>", first + 20}};
}

SpecialTokens Gpt2Specials(TokenId first) { return {{"<|endoftext|>", first}}; }

SpecialTokens NoSpecials(TokenId) { return {}; }

// A tokenizer class without its ending, or a file's name without its ending; the pattern; the
// special tokens where the config lists none, given the number of ranks.
struct TiktokenFamily {
  std::string_view name, pattern;
  SpecialTokens (*specials)(TokenId);
};
constexpr TiktokenFamily kTiktokenFamilies[] = {
    {"QWen", "qwen", QwenSpecials},
    {"qwen", "qwen", QwenSpecials},
    {"TikToken", "kimi-k2", NoSpecials},
    {"ChatGLM4", "llama3", NoSpecials},
    {"HY", "qwen", NoSpecials},
    {"cl100k_base", "cl100k_base", Cl100kSpecials},
    {"o200k_base", "o200k_base", O200kSpecials},
    {"gpt2", "gpt2", Gpt2Specials},
    {"r50k_base", "gpt2", Gpt2Specials},
    {"llama3", "llama3", Llama3Specials},
};

const TiktokenFamily* FindFamily(std::string_view name) {
  for (const TiktokenFamily& family : kTiktokenFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

// Llama 3's original folder names neither: its file is known by its size.
constexpr std::size_t kLlama3Ranks = 128000;

}  // namespace

Result<std::string> ReadTextFile(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return Unreadable("{}: {}", path.string(), error.message());
  if (size > kLargestFileBytes) return Unreadable("{}: {} bytes are too many", path.string(), size);
  std::string text(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return Unreadable("{}: cannot be read", path.string());
  return text;
}

Result<std::unique_ptr<Tokenizer>> TokenizerFromSentencePiece(std::string_view bytes,
                                                              const Json& config) {
  const std::string name = TokenizerClass(config);
  const auto& plain = kPlainSentencePieceClasses;
  if (std::find(std::begin(plain), std::end(plain), name) == std::end(plain)) {
    return Unsupported(
        "{}Tokenizer numbers its tokens apart from its tokenizer.model; a tokenizer.json is needed",
        name);
  }
  ASSIGN_OR_RETURN(SentencePieceVocab vocab, ParseSentencePieceModel(bytes));
  // What `legacy: false` stands for: no space is put before text that follows a special token.
  ASSIGN_OR_RETURN(const bool legacy, JsonBool(config, "legacy", true));
  vocab.dummy_prefix_at_start_only = !legacy;
  ASSIGN_OR_RETURN(TokenizerParts parts, MakeSentencePieceParts(std::move(vocab)));
  RETURN_IF_ERROR(SetSurround(config, name != "T5", name == "T5", parts));
  return WithConfiguredTokens(config, std::move(parts));
}

Result<std::unique_ptr<Tokenizer>> TokenizerFromTiktoken(std::string_view bytes,
                                                         std::string_view name,
                                                         const Json& config) {
  ASSIGN_OR_RETURN(auto tokens, ParseTiktoken(bytes));
  const TiktokenFamily* family = FindFamily(TokenizerClass(config));
  if (family == nullptr) family = FindFamily(name.substr(0, name.rfind('.')));
  if (family == nullptr && tokens.size() == kLlama3Ranks) family = FindFamily("llama3");
  if (family == nullptr) {
    return Unsupported(
        "the tokenizer class \"{}\" with the tiktoken file {}: its pattern is not known",
        TokenText(config, "tokenizer_class"), name);
  }
  ASSIGN_OR_RETURN(const std::string_view pattern, TiktokenPattern(family->pattern));
  ASSIGN_OR_RETURN(const auto configured, ConfiguredTokens(config));
  SpecialTokens special;
  for (const auto& [id, token] : configured) special.emplace_back(token.content, id);
  if (special.empty()) special = family->specials(static_cast<TokenId>(tokens.size()));
  ASSIGN_OR_RETURN(TokenizerParts parts,
                   MakeTiktokenParts(std::move(tokens), pattern, std::move(special)));
  const bool llama3 = family->pattern == "llama3" && family->specials == Llama3Specials;
  if (llama3) parts.bos = parts.model->TokenToId("<|begin_of_text|>");
  RETURN_IF_ERROR(SetSurround(config, llama3, false, parts));
  return WithConfiguredTokens(config, std::move(parts));
}

Result<std::unique_ptr<Tokenizer>> TokenizerFromPlamo(std::string_view bytes, const Json& config) {
  ASSIGN_OR_RETURN(std::vector<PlamoRow> rows, ParsePlamoJsonl(bytes));
  ASSIGN_OR_RETURN(TokenizerParts parts, MakePlamoParts(std::move(rows)));
  parts.bos = parts.model->TokenToId("<|plamo:bos|>");
  parts.eos = parts.model->TokenToId("<|plamo:eos|>");
  RETURN_IF_ERROR(SetSurround(config, true, false, parts));
  return WithConfiguredTokens(config, std::move(parts));
}

}  // namespace tonnage
