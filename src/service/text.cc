#include "service/text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "checkpoint/mapped_file.h"
#include "service/text_files.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

// The JSON of a file, or null where there is none.
Result<Json> ReadJsonIfThere(const fs::path& path) {
  if (!fs::exists(path)) return Json();
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return json.error().In(path.string());
  return json;
}

// A tiktoken file is text, "IQ== 0" and so on; a SentencePiece model begins with its first field's
// tag.
bool LooksLikeTiktoken(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::size_t space = line.find(' ');
  return space != std::string_view::npos && space > 0 &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(space), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' ||
                  c == '=';
         });
}

// The file that a folder's tokenizer is made of, in the order of what says most.
fs::path FindTokenizerFile(const fs::path& folder) {
  for (const char* name :
       {"tokenizer.json", "tokenizer.jsonl", "tokenizer.model", "tiktoken.model"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".tiktoken") return entry.path();
  }
  return {};
}

Result<std::unique_ptr<Tokenizer>> MakeTokenizer(const fs::path& file, const Json& config) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadTextFile(file));
  const std::string name = file.filename().string();
  auto tokenizer = [&]() -> Result<std::unique_ptr<Tokenizer>> {
    if (file.extension() == ".json") {
      return Tokenizer::FromJson(bytes, config.is_null() ? std::string() : DumpJson(config));
    }
    if (file.extension() == ".jsonl") return TokenizerFromPlamo(bytes, config);
    if (LooksLikeTiktoken(bytes)) return TokenizerFromTiktoken(bytes, name, config);
    return TokenizerFromSentencePiece(bytes, config);
  }();
  if (!tokenizer.ok()) return tokenizer.error().In(file.string());
  return tokenizer;
}

// --- Chat templates
// ----------------------------------------------------------------------------------------------------

// `chat_template`: one source, or a list of {name, template}.
Status ReadTemplates(const Json& config, ModelText& text) {
  const Json* value = JsonFind(config, "chat_template");
  if (value == nullptr) return {};
  if (value->is_string()) {
    text.chat_templates.emplace_back("default", value->get<std::string>());
    return {};
  }
  if (!value->is_array()) return Unreadable("chat_template is neither a text nor a list");
  for (const Json& item : *value) {
    ASSIGN_OR_RETURN(std::string name, JsonString(item, "name", ""));
    ASSIGN_OR_RETURN(std::string source, JsonString(item, "template", ""));
    if (name.empty() || source.empty())
      return Unreadable("chat_template has a nameless or empty entry");
    text.chat_templates.emplace_back(std::move(name), std::move(source));
  }
  return {};
}

// Files of their own count before the config: chat_template.jinja is the default,
// additional_chat_templates/x.jinja is x.
Status ReadTemplateFiles(const fs::path& folder, ModelText& text) {
  const auto add = [&](std::string name, const fs::path& path) -> Status {
    ASSIGN_OR_RETURN(std::string source, ReadTextFile(path));
    std::erase_if(text.chat_templates, [&](const auto& entry) { return entry.first == name; });
    text.chat_templates.emplace_back(std::move(name), std::move(source));
    return {};
  };
  if (fs::exists(folder / "chat_template.jinja")) {
    RETURN_IF_ERROR(add("default", folder / "chat_template.jinja"));
  } else if (fs::exists(folder / "chat_template.json")) {
    ASSIGN_OR_RETURN(const Json json, ReadJsonIfThere(folder / "chat_template.json"));
    text.chat_templates.clear();
    RETURN_IF_ERROR(ReadTemplates(json, text));
  }
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder / "additional_chat_templates", error)) {
    if (entry.path().extension() == ".jinja") {
      RETURN_IF_ERROR(add(entry.path().stem().string(), entry.path()));
    }
  }
  return {};
}

// --- Named tokens
// ------------------------------------------------------------------------------------------------------

// A token's text from the config, where it is a text or an object, or else from the tokenizer's own
// id.
std::string NamedToken(const Json& config, std::string_view key, const Tokenizer& tokenizer,
                       std::optional<TokenId> id) {
  const Json* token = JsonFind(config, key);
  if (token != nullptr && token->is_object()) token = JsonFind(*token, "content");
  if (token != nullptr && token->is_string()) return token->get<std::string>();
  return id ? tokenizer.IdToToken(*id).value_or("") : "";
}

// eos_token_id, a number or a list of them.
void CollectEndIds(const Json& config, std::vector<TokenId>& ids) {
  const Json* value = JsonFind(config, "eos_token_id");
  if (value == nullptr) return;
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& id : list) {
    if (id.is_number_integer() && id >= 0 && id <= INT32_MAX) ids.push_back(id.get<TokenId>());
  }
}

void SetEndIds(const TextConfigs& configs, ModelText& text) {
  const Tokenizer& tokenizer = *text.tokenizer;
  CollectEndIds(configs.generation, text.end_ids);
  if (text.end_ids.empty()) CollectEndIds(configs.model, text.end_ids);
  if (const auto id = tokenizer.TokenToId(text.eos_token); id && !text.eos_token.empty()) {
    text.end_ids.push_back(*id);
  } else if (tokenizer.eos()) {
    text.end_ids.push_back(*tokenizer.eos());
  }
  // Chat models whose configs name only the end of a text: these end a turn, wherever they are
  // special.
  for (const char* end : {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<turn|>",
                          "<|end_of_text|>", "<|plamo:eos|>", "<end_of_utterance>"}) {
    if (const auto id = tokenizer.TokenToId(end); id && tokenizer.IsSpecial(*id)) {
      text.end_ids.push_back(*id);
    }
  }
  std::sort(text.end_ids.begin(), text.end_ids.end());
  text.end_ids.erase(std::unique(text.end_ids.begin(), text.end_ids.end()), text.end_ids.end());
}

Result<ModelText> OpenFolder(const fs::path& folder, fs::path file) {
  if (file.empty()) file = FindTokenizerFile(folder);
  if (file.empty()) {
    return Unreadable("{}: no tokenizer.json, tokenizer.jsonl, tokenizer.model or tiktoken file",
                      folder.string());
  }
  TextConfigs configs;
  ASSIGN_OR_RETURN(configs.tokenizer, ReadJsonIfThere(folder / "tokenizer_config.json"));
  ASSIGN_OR_RETURN(configs.generation, ReadJsonIfThere(folder / "generation_config.json"));
  ASSIGN_OR_RETURN(configs.model, ReadJsonIfThere(folder / "config.json"));
  ModelText text;
  ASSIGN_OR_RETURN(text.tokenizer, MakeTokenizer(file, configs.tokenizer));
  if (const Status read = ReadTemplates(configs.tokenizer, text); !read.ok()) {
    return read.error().In((folder / "tokenizer_config.json").string());
  }
  RETURN_IF_ERROR(ReadTemplateFiles(folder, text));
  const Tokenizer& tokenizer = *text.tokenizer;
  text.bos_token = NamedToken(configs.tokenizer, "bos_token", tokenizer, tokenizer.bos());
  text.eos_token = NamedToken(configs.tokenizer, "eos_token", tokenizer, tokenizer.eos());
  text.unk_token = NamedToken(configs.tokenizer, "unk_token", tokenizer, std::nullopt);
  text.pad_token = NamedToken(configs.tokenizer, "pad_token", tokenizer, std::nullopt);
  SetEndIds(configs, text);
  return text;
}

Result<ModelText> OpenGguf(const std::string& path) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  ASSIGN_OR_RETURN(const Gguf gguf, Gguf::Parse(file.bytes()));
  ASSIGN_OR_RETURN(GgufVocab vocab, ReadGgufVocab(gguf));
  ModelText text;
  text.end_ids = GgufEndIds(vocab);
  const auto unk = vocab.unk_id, pad = vocab.pad_id;
  ASSIGN_OR_RETURN(text.tokenizer, MakeGgufTokenizer(std::move(vocab)));
  const auto token = [&](std::optional<std::int64_t> id) -> std::string {
    if (!id || *id < 0 || *id > INT32_MAX) return "";
    return text.tokenizer->IdToToken(static_cast<TokenId>(*id)).value_or("");
  };
  text.bos_token = token(text.tokenizer->bos());
  text.eos_token = token(text.tokenizer->eos());
  text.unk_token = token(unk);
  text.pad_token = token(pad);
  constexpr std::string_view kTemplateKey = "tokenizer.chat_template";
  for (const GgufEntry& entry : gguf.metadata()) {
    if (!entry.key.starts_with(kTemplateKey) || entry.type != GgufType::kString) continue;
    const std::string_view name = entry.key.substr(kTemplateKey.size());
    if (!name.empty() && name[0] != '.') continue;
    ASSIGN_OR_RETURN(const auto source, gguf.Get<std::string_view>(entry.key));
    text.chat_templates.emplace_back(name.empty() ? "default" : name.substr(1), *source);
  }
  return text;
}

}  // namespace

const std::string* ModelText::ChatTemplate(std::string_view name) const {
  for (const auto& [known, source] : chat_templates) {
    if (known == name) return &source;
  }
  return nullptr;
}

Result<GgufVocab> ReadGgufVocab(const Gguf& gguf) {
  GgufVocab vocab;
  const auto text = [&](std::string_view key, std::string& out) -> Status {
    ASSIGN_OR_RETURN(const auto value, gguf.Get<std::string_view>(key));
    if (value) out = *value;
    return {};
  };
  const auto texts = [&](std::string_view key, std::vector<std::string>& out) -> Status {
    ASSIGN_OR_RETURN(const auto value, gguf.Get<std::vector<std::string_view>>(key));
    if (value) out.assign(value->begin(), value->end());
    return {};
  };
  RETURN_IF_ERROR(text("tokenizer.ggml.model", vocab.model));
  RETURN_IF_ERROR(text("tokenizer.ggml.pre", vocab.pre));
  RETURN_IF_ERROR(text("general.name", vocab.model_name));
  RETURN_IF_ERROR(text("general.architecture", vocab.architecture));
  RETURN_IF_ERROR(texts("tokenizer.ggml.tokens", vocab.tokens));
  RETURN_IF_ERROR(texts("tokenizer.ggml.merges", vocab.merges));
  ASSIGN_OR_RETURN(auto scores, gguf.Get<std::vector<float>>("tokenizer.ggml.scores"));
  if (scores) vocab.scores = *std::move(scores);
  ASSIGN_OR_RETURN(const auto types,
                   gguf.Get<std::vector<std::int64_t>>("tokenizer.ggml.token_type"));
  if (types) vocab.types.assign(types->begin(), types->end());
  ASSIGN_OR_RETURN(const auto charsmap,
                   gguf.Get<std::vector<std::int64_t>>("tokenizer.ggml.precompiled_charsmap"));
  if (charsmap) vocab.precompiled_charsmap.assign(charsmap->begin(), charsmap->end());

  const std::pair<std::string_view, std::optional<std::int64_t>*> ids[] = {
      {"bos_token_id", &vocab.bos_id},     {"eos_token_id", &vocab.eos_id},
      {"eot_token_id", &vocab.eot_id},     {"eom_token_id", &vocab.eom_id},
      {"unknown_token_id", &vocab.unk_id}, {"seperator_token_id", &vocab.sep_id},
      {"padding_token_id", &vocab.pad_id}, {"cls_token_id", &vocab.cls_id},
  };
  for (const auto& [key, id] : ids) {
    ASSIGN_OR_RETURN(*id, gguf.Get<std::int64_t>(fmt::format("tokenizer.ggml.{}", key)));
  }
  const std::pair<std::string_view, std::optional<bool>*> flags[] = {
      {"add_bos_token", &vocab.add_bos},
      {"add_eos_token", &vocab.add_eos},
      {"add_space_prefix", &vocab.add_space_prefix},
      {"remove_extra_whitespaces", &vocab.remove_extra_whitespaces},
      {"normalizer.lowercase", &vocab.lowercase},
      {"normalizer.strip_accents", &vocab.strip_accents},
  };
  for (const auto& [key, flag] : flags) {
    ASSIGN_OR_RETURN(*flag, gguf.Get<bool>(fmt::format("tokenizer.ggml.{}", key)));
  }
  return vocab;
}

Result<ModelText> OpenModelText(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return OpenFolder(path, {});
  if (!fs::exists(path, error)) return Unreadable("{}: no such file or folder", path);
  const fs::path file(path), folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const std::string extension = file.extension().string();
  if (extension == ".gguf") {
    Result<ModelText> text = OpenGguf(path);
    if (!text.ok()) return text.error().In(path);
    return text;
  }
  const bool weights = extension == ".safetensors";
  return OpenFolder(folder, weights ? fs::path() : file);
}

}  // namespace tonnage
