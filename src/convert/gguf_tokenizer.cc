#include "convert/gguf_tokenizer.h"

#include <optional>
#include <string_view>

#include "tokenizer/gguf_pre.h"

namespace tonnage {
namespace {

using Strings = std::vector<std::string_view>;

constexpr std::int64_t kControl = 3, kUserDefined = 4;  // types of tokens

class BpeFiles {
 public:
  BpeFiles(const Gguf& gguf, const GgufPreTokenizer& pre) : gguf_(gguf), pre_(pre) {}

  Result<TokenizerFiles> Make() {
    ASSIGN_OR_RETURN(tokens_, gguf_.Require<Strings>("tokenizer.ggml.tokens"));
    ASSIGN_OR_RETURN(merges_, gguf_.Require<Strings>("tokenizer.ggml.merges"));
    ASSIGN_OR_RETURN(const auto types,
                     gguf_.Get<std::vector<std::int64_t>>("tokenizer.ggml.token_type"));
    types_ = types.value_or(std::vector<std::int64_t>());
    ASSIGN_OR_RETURN(const Json post_processor, PostProcessor());
    const Json tokenizer = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", AddedTokens()},
                            {"normalizer", nullptr},
                            {"pre_tokenizer", PreTokenizer()},
                            {"post_processor", post_processor},
                            {"decoder", ByteLevel()},
                            {"model", Model()}};
    ASSIGN_OR_RETURN(const Json config, Config());
    return TokenizerFiles{
        .files = {{"tokenizer.json", tokenizer}, {"tokenizer_config.json", config}}, .note = ""};
  }

 private:
  static Json ByteLevel() {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", false}};
  }

  Json AddedTokens() const {
    Json added = Json::array();
    for (size_t id = 0; id < tokens_.size() && id < types_.size(); ++id) {
      if (types_[id] != kControl && types_[id] != kUserDefined) continue;
      added.push_back({{"id", id},
                       {"content", tokens_[id]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", types_[id] == kControl}});
    }
    return added;
  }

  Json PreTokenizer() const {
    Json steps = Json::array();
    for (const CutStep& step : pre_.steps) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", step.pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
    steps.push_back(ByteLevel());
    return {{"type", "Sequence"}, {"pretokenizers", steps}};
  }

  Json Model() const {
    Json vocab = Json::object();
    // ordered_json looks a new key up among all: appended directly.
    auto& entries = vocab.get_ref<Json::object_t&>();
    for (size_t id = 0; id < tokens_.size(); ++id)
      entries.push_back({std::string(tokens_[id]), Json(id)});
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", pre_.traits.ignore_merges},
            {"vocab", vocab},
            {"merges", merges_}};
  }

  // The text of the token that the key names, or nothing.
  Result<std::optional<std::string>> TokenOf(std::string_view key) const {
    ASSIGN_OR_RETURN(const auto id, gguf_.Get<std::int64_t>(key));
    if (!id || *id < 0 || static_cast<size_t>(*id) >= tokens_.size())
      return std::optional<std::string>();
    return std::optional<std::string>(tokens_[static_cast<size_t>(*id)]);
  }

  Result<bool> AddsBos() const {
    ASSIGN_OR_RETURN(const auto add, gguf_.Get<bool>("tokenizer.ggml.add_bos_token"));
    return add.value_or(pre_.traits.add_bos);
  }

  Result<Json> PostProcessor() const {
    ASSIGN_OR_RETURN(const bool adds, AddsBos());
    ASSIGN_OR_RETURN(const auto bos, TokenOf("tokenizer.ggml.bos_token_id"));
    if (!adds || !bos) return ByteLevel();
    ASSIGN_OR_RETURN(const auto id, gguf_.Require<std::int64_t>("tokenizer.ggml.bos_token_id"));
    const Json token = {{"SpecialToken", {{"id", *bos}, {"type_id", 0}}}};
    const auto sequence = [](const char* name) {
      return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}};
    };
    return Json{
        {"type", "TemplateProcessing"},
        {"single", {token, sequence("A")}},
        {"pair", {token, sequence("A"), sequence("B")}},
        {"special_tokens",
         {{*bos, {{"id", *bos}, {"ids", Json::array({id})}, {"tokens", Json::array({*bos})}}}}}};
  }

  Result<Json> Config() const {
    Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                   {"clean_up_tokenization_spaces", false}};
    for (const auto& [key, name] : {std::pair{"bos_token", "tokenizer.ggml.bos_token_id"},
                                    {"eos_token", "tokenizer.ggml.eos_token_id"},
                                    {"unk_token", "tokenizer.ggml.unknown_token_id"},
                                    {"pad_token", "tokenizer.ggml.padding_token_id"}}) {
      ASSIGN_OR_RETURN(const auto token, TokenOf(name));
      if (token) config[key] = *token;
    }
    ASSIGN_OR_RETURN(const bool adds, AddsBos());
    config["add_bos_token"] = adds;
    ASSIGN_OR_RETURN(const auto chat, gguf_.Get<std::string_view>("tokenizer.chat_template"));
    if (chat) config["chat_template"] = *chat;
    return config;
  }

  const Gguf& gguf_;
  const GgufPreTokenizer& pre_;
  Strings tokens_;
  Strings merges_;
  std::vector<std::int64_t> types_;  // by id, or empty
};

bool AllPatterns(const GgufPreTokenizer& pre) {
  for (const CutStep& step : pre.steps) {
    if (step.kind != CutStep::Kind::kPattern) return false;
  }
  return !pre.traits.raw;
}

}  // namespace

Result<TokenizerFiles> TokenizerFilesFromGguf(const Gguf& gguf) {
  ASSIGN_OR_RETURN(const auto kind, gguf.Get<std::string_view>("tokenizer.ggml.model"));
  ASSIGN_OR_RETURN(const auto pre_name, gguf.Get<std::string_view>("tokenizer.ggml.pre"));
  if (kind == "gpt2") {
    ASSIGN_OR_RETURN(const GgufPreTokenizer* pre, FindGgufPreTokenizer(pre_name.value_or("")));
    if (AllPatterns(*pre)) return BpeFiles(gguf, *pre).Make();
  }
  return TokenizerFiles{
      .files = {},
      .note = fmt::format("the GGUF's vocabulary (kind {}) cannot be written as a tokenizer.json: "
                          "copy the tokenizer files of the original model into the folder",
                          kind.value_or("none"))};
}

}  // namespace tonnage
