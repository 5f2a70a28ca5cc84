// The FromJson functions of normalizers, pre-tokenizers, post-processors and decoders: one entry a
// type.
#include <functional>
#include <span>

#include "tokenizer/decoder.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

Result<const Json*> Required(const Json& json, std::string_view key) {
  if (const Json* value = JsonFind(json, key)) return value;
  return Unreadable("`{}` is missing", key);
}

Result<bool> RequiredBool(const Json& json, std::string_view key) {
  RETURN_IF_ERROR(Required(json, key));
  return JsonBool(json, key, false);
}

Result<std::string> RequiredString(const Json& json, std::string_view key) {
  RETURN_IF_ERROR(Required(json, key));
  return JsonString(json, key, "");
}

Result<char32_t> RequiredChar(const Json& json, std::string_view key) {
  ASSIGN_OR_RETURN(const std::string text, RequiredString(json, key));
  if (text.empty() || CharLength(text[0]) != text.size()) {
    return Unreadable("`{}` must be one character, not `{}`", key, text);
  }
  return CharAt(text, 0);
}

Result<std::size_t> RequiredSize(const Json& json, std::string_view key) {
  ASSIGN_OR_RETURN(const std::int64_t value, JsonRequiredInt(json, key));
  if (value < 0) return Unreadable("`{}` is {}", key, value);
  return static_cast<std::size_t>(value);
}

Result<TokenId> AsTokenId(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT32_MAX) {
    return Unreadable("{} is not a token id", DumpJson(value));
  }
  return static_cast<TokenId>(value.get<std::uint64_t>());
}

// {"String": ...} or {"Regex": ...}.
struct PatternText {
  std::string text;
  bool is_regex;
};
Result<PatternText> RequiredPattern(const Json& json) {
  ASSIGN_OR_RETURN(const Json* pattern, Required(json, "pattern"));
  for (const char* kind : {"String", "Regex"}) {
    const Json* text = JsonFind(*pattern, kind);
    if (text != nullptr && text->is_string() && pattern->size() == 1) {
      return PatternText{text->get<std::string>(), kind == std::string_view("Regex")};
    }
  }
  return Unsupported("the pattern {}", DumpJson(*pattern));
}

Result<SplitBehavior> BehaviorFromName(std::string_view name) {
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return Unsupported("the behavior `{}`", name);
}

Result<PrependScheme> MetaspaceScheme(const Json& json) {
  ASSIGN_OR_RETURN(const std::string name, JsonString(json, "prepend_scheme", "always"));
  ASSIGN_OR_RETURN(const bool add_prefix_space, JsonBool(json, "add_prefix_space", true));
  if (!add_prefix_space && name != "never") {
    return Unreadable("add_prefix_space is false, but prepend_scheme is `{}`", name);
  }
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  if (name == "always") return PrependScheme::kAlways;
  return Unsupported("the prepend_scheme `{}`", name);
}

Result<std::string> FromBase64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (value < 0) return Unreadable("`{}` is not of base64", c);
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return out;
}

// The parts of a Sequence, each read by `read`.
template <typename T, typename Read>
Result<std::vector<std::unique_ptr<T>>> Steps(const Json& json, std::string_view key,
                                              const Read& read) {
  ASSIGN_OR_RETURN(const Json* list, Required(json, key));
  if (!list->is_array()) return Unreadable("`{}` is not a list", key);
  std::vector<std::unique_ptr<T>> steps;
  for (const Json& item : *list) {
    ASSIGN_OR_RETURN(std::unique_ptr<T> step, read(item));
    steps.push_back(std::move(step));
  }
  return steps;
}

// One type of a component and how it is read.
template <typename T>
struct Type {
  const char* name;
  Result<std::unique_ptr<T>> (*read)(const Json& json);
};

template <typename T>
Result<std::unique_ptr<T>> ReadTyped(const Json& json, const char* what,
                                     std::span<const Type<T>> types) {
  const Json* name = JsonFind(json, "type");
  if (name == nullptr || !name->is_string()) return Unreadable("a {} without a type", what);
  for (const Type<T>& type : types) {
    if (name->get_ref<const std::string&>() != type.name) continue;
    Result<std::unique_ptr<T>> made = type.read(json);
    if (!made.ok()) return made.error().In(fmt::format("{} {}", what, type.name));
    return made;
  }
  return Unsupported("the {} `{}`", what, name->get_ref<const std::string&>());
}

using NormalizerResult = Result<std::unique_ptr<Normalizer>>;

NormalizerResult ReadStrip(const Json& json) {
  ASSIGN_OR_RETURN(const bool left, RequiredBool(json, "strip_left"));
  ASSIGN_OR_RETURN(const bool right, RequiredBool(json, "strip_right"));
  return MakeStripNormalizer(left, right);
}

NormalizerResult ReadReplace(const Json& json) {
  ASSIGN_OR_RETURN(const PatternText pattern, RequiredPattern(json));
  ASSIGN_OR_RETURN(const std::string content, RequiredString(json, "content"));
  if (pattern.is_regex) return MakeReplaceRegexNormalizer(pattern.text, content);
  return MakeReplaceNormalizer(pattern.text, content);
}

NormalizerResult ReadPrecompiled(const Json& json) {
  ASSIGN_OR_RETURN(const std::string text, RequiredString(json, "precompiled_charsmap"));
  ASSIGN_OR_RETURN(const std::string bytes, FromBase64(text));
  return MakePrecompiledNormalizer(bytes);
}

NormalizerResult ReadBertNormalizer(const Json& json) {
  BertNormalizerOptions options;
  ASSIGN_OR_RETURN(options.clean_text, RequiredBool(json, "clean_text"));
  ASSIGN_OR_RETURN(options.handle_chinese_chars, RequiredBool(json, "handle_chinese_chars"));
  ASSIGN_OR_RETURN(options.lowercase, RequiredBool(json, "lowercase"));
  if (JsonFind(json, "strip_accents")) {
    ASSIGN_OR_RETURN(options.strip_accents, JsonBool(json, "strip_accents", false));
  }
  return MakeBertNormalizer(options);
}

constexpr Type<Normalizer> kNormalizers[] = {
    {"NFC",
     [](const Json&) -> NormalizerResult { return MakeUnicodeNormalizer(NormalForm::kNfc); }},
    {"NFD",
     [](const Json&) -> NormalizerResult { return MakeUnicodeNormalizer(NormalForm::kNfd); }},
    {"NFKC",
     [](const Json&) -> NormalizerResult { return MakeUnicodeNormalizer(NormalForm::kNfkc); }},
    {"NFKD",
     [](const Json&) -> NormalizerResult { return MakeUnicodeNormalizer(NormalForm::kNfkd); }},
    {"Nmt", [](const Json&) -> NormalizerResult { return MakeNmtNormalizer(); }},
    {"Lowercase", [](const Json&) -> NormalizerResult { return MakeLowercaseNormalizer(); }},
    {"Strip", ReadStrip},
    {"StripAccents", [](const Json&) -> NormalizerResult { return MakeStripAccentsNormalizer(); }},
    {"Prepend",
     [](const Json& json) -> NormalizerResult {
       ASSIGN_OR_RETURN(std::string prepend, RequiredString(json, "prepend"));
       return MakePrependNormalizer(std::move(prepend));
     }},
    {"Replace", ReadReplace},
    {"Precompiled", ReadPrecompiled},
    {"BertNormalizer", ReadBertNormalizer},
    {"ByteLevel", [](const Json&) -> NormalizerResult { return MakeByteLevelNormalizer(); }},
    {"Sequence",
     [](const Json& json) -> NormalizerResult {
       ASSIGN_OR_RETURN(auto steps, Steps<Normalizer>(json, "normalizers", NormalizerFromJson));
       return MakeNormalizerSequence(std::move(steps));
     }},
};

using PreTokenizerResult = Result<std::unique_ptr<PreTokenizer>>;

PreTokenizerResult ReadByteLevel(const Json& json) {
  ASSIGN_OR_RETURN(const bool add_prefix_space, RequiredBool(json, "add_prefix_space"));
  ASSIGN_OR_RETURN(const bool use_regex, JsonBool(json, "use_regex", true));
  return MakeByteLevelPreTokenizer(add_prefix_space, use_regex);
}

PreTokenizerResult ReadMetaspace(const Json& json) {
  ASSIGN_OR_RETURN(const char32_t replacement, RequiredChar(json, "replacement"));
  ASSIGN_OR_RETURN(const PrependScheme scheme, MetaspaceScheme(json));
  ASSIGN_OR_RETURN(const bool split, JsonBool(json, "split", true));
  return MakeMetaspacePreTokenizer(replacement, scheme, split);
}

PreTokenizerResult ReadPunctuation(const Json& json) {
  ASSIGN_OR_RETURN(const std::string name, JsonString(json, "behavior", "Isolated"));
  ASSIGN_OR_RETURN(const SplitBehavior behavior, BehaviorFromName(name));
  return MakePunctuationPreTokenizer(behavior);
}

PreTokenizerResult ReadSplit(const Json& json) {
  ASSIGN_OR_RETURN(const PatternText pattern, RequiredPattern(json));
  ASSIGN_OR_RETURN(const std::string name, RequiredString(json, "behavior"));
  ASSIGN_OR_RETURN(const SplitBehavior behavior, BehaviorFromName(name));
  ASSIGN_OR_RETURN(const bool invert, RequiredBool(json, "invert"));
  if (pattern.is_regex) return MakeSplitRegexPreTokenizer(pattern.text, behavior, invert);
  return MakeSplitPreTokenizer(pattern.text, behavior, invert);
}

PreTokenizerResult ReadFixedLength(const Json& json) {
  std::size_t length = 5;
  if (JsonFind(json, "length")) {
    ASSIGN_OR_RETURN(length, RequiredSize(json, "length"));
  }
  if (length == 0) return Unreadable("`length` is 0");
  return MakeFixedLengthPreTokenizer(length);
}

constexpr Type<PreTokenizer> kPreTokenizers[] = {
    {"BertPreTokenizer", [](const Json&) -> PreTokenizerResult { return MakeBertPreTokenizer(); }},
    {"ByteLevel", ReadByteLevel},
    {"CharDelimiterSplit",
     [](const Json& json) -> PreTokenizerResult {
       ASSIGN_OR_RETURN(const char32_t delimiter, RequiredChar(json, "delimiter"));
       return MakeCharDelimiterSplit(delimiter);
     }},
    {"Metaspace", ReadMetaspace},
    {"Whitespace", [](const Json&) -> PreTokenizerResult { return MakeWhitespacePreTokenizer(); }},
    {"WhitespaceSplit", [](const Json&) -> PreTokenizerResult { return MakeWhitespaceSplit(); }},
    {"Punctuation", ReadPunctuation},
    {"Digits",
     [](const Json& json) -> PreTokenizerResult {
       ASSIGN_OR_RETURN(const bool individual, RequiredBool(json, "individual_digits"));
       return MakeDigitsPreTokenizer(individual);
     }},
    {"UnicodeScripts",
     [](const Json&) -> PreTokenizerResult { return MakeUnicodeScriptsPreTokenizer(); }},
    {"FixedLength", ReadFixedLength},
    {"Split", ReadSplit},
    {"Sequence",
     [](const Json& json) -> PreTokenizerResult {
       ASSIGN_OR_RETURN(auto steps,
                        Steps<PreTokenizer>(json, "pretokenizers", PreTokenizerFromJson));
       return MakePreTokenizerSequence(std::move(steps));
     }},
};

using PostProcessorResult = Result<std::unique_ptr<PostProcessor>>;

// ["[SEP]", 102]
Result<TokenId> RequiredTokenPair(const Json& json, std::string_view key) {
  ASSIGN_OR_RETURN(const Json* pair, Required(json, key));
  if (!pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string()) {
    return Unreadable("`{}` is not [token, id]", key);
  }
  return AsTokenId((*pair)[1]);
}

PostProcessorResult ReadBertProcessing(const Json& json) {
  ASSIGN_OR_RETURN(const TokenId sep, RequiredTokenPair(json, "sep"));
  ASSIGN_OR_RETURN(const TokenId cls, RequiredTokenPair(json, "cls"));
  return MakeBertPostProcessor(cls, sep);
}

PostProcessorResult ReadRobertaProcessing(const Json& json) {
  ASSIGN_OR_RETURN(const TokenId sep, RequiredTokenPair(json, "sep"));
  ASSIGN_OR_RETURN(const TokenId cls, RequiredTokenPair(json, "cls"));
  return MakeRobertaPostProcessor(cls, sep);
}

Result<TemplatePiece> ReadTemplatePiece(const Json& json, const Json& special_tokens) {
  if (const Json* sequence = JsonFind(json, "Sequence")) {
    ASSIGN_OR_RETURN(const std::string id, RequiredString(*sequence, "id"));
    if (id != "A" && id != "B") return Unreadable("the sequence `{}`", id);
    return TemplatePiece{id == "A" ? 0 : 1, {}};
  }
  const Json* special = JsonFind(json, "SpecialToken");
  if (special == nullptr) return Unreadable("the piece {}", DumpJson(json));
  ASSIGN_OR_RETURN(const std::string id, RequiredString(*special, "id"));
  const Json* token = JsonFind(special_tokens, id);
  if (token == nullptr) return Unreadable("`{}` is not among its special_tokens", id);
  ASSIGN_OR_RETURN(const Json* ids, Required(*token, "ids"));
  TemplatePiece piece;
  for (const Json& item : *ids) {
    ASSIGN_OR_RETURN(const TokenId token_id, AsTokenId(item));
    piece.ids.push_back(token_id);
  }
  return piece;
}

Result<std::vector<TemplatePiece>> ReadTemplate(const Json& json, std::string_view key) {
  ASSIGN_OR_RETURN(const Json* special_tokens, Required(json, "special_tokens"));
  ASSIGN_OR_RETURN(const Json* list, Required(json, key));
  if (!list->is_array()) return Unreadable("`{}` is not a list", key);
  std::vector<TemplatePiece> pieces;
  for (const Json& item : *list) {
    ASSIGN_OR_RETURN(TemplatePiece piece, ReadTemplatePiece(item, *special_tokens));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

constexpr Type<PostProcessor> kPostProcessors[] = {
    {"BertProcessing", ReadBertProcessing},
    {"RobertaProcessing", ReadRobertaProcessing},
    {"ByteLevel", [](const Json&) -> PostProcessorResult { return MakeByteLevelPostProcessor(); }},
    {"TemplateProcessing",
     [](const Json& json) -> PostProcessorResult {
       ASSIGN_OR_RETURN(auto single, ReadTemplate(json, "single"));
       ASSIGN_OR_RETURN(auto pair, ReadTemplate(json, "pair"));
       return MakeTemplatePostProcessor(std::move(single), std::move(pair));
     }},
    {"Sequence",
     [](const Json& json) -> PostProcessorResult {
       ASSIGN_OR_RETURN(auto steps,
                        Steps<PostProcessor>(json, "processors", PostProcessorFromJson));
       return MakePostProcessorSequence(std::move(steps));
     }},
};

using DecoderResult = Result<std::unique_ptr<Decoder>>;

DecoderResult ReadReplaceDecoder(const Json& json) {
  ASSIGN_OR_RETURN(const PatternText pattern, RequiredPattern(json));
  ASSIGN_OR_RETURN(const std::string content, RequiredString(json, "content"));
  if (pattern.is_regex) return MakeReplaceRegexDecoder(pattern.text, content);
  return MakeReplaceDecoder(pattern.text, content);
}

DecoderResult ReadWordPieceDecoder(const Json& json) {
  ASSIGN_OR_RETURN(const std::string prefix, RequiredString(json, "prefix"));
  ASSIGN_OR_RETURN(const bool cleanup, RequiredBool(json, "cleanup"));
  return MakeWordPieceDecoder(prefix, cleanup);
}

DecoderResult ReadStripDecoder(const Json& json) {
  ASSIGN_OR_RETURN(const char32_t content, RequiredChar(json, "content"));
  ASSIGN_OR_RETURN(const std::size_t start, RequiredSize(json, "start"));
  ASSIGN_OR_RETURN(const std::size_t stop, RequiredSize(json, "stop"));
  return MakeStripDecoder(content, start, stop);
}

DecoderResult ReadMetaspaceDecoder(const Json& json) {
  ASSIGN_OR_RETURN(const char32_t replacement, RequiredChar(json, "replacement"));
  ASSIGN_OR_RETURN(const PrependScheme scheme, MetaspaceScheme(json));
  return MakeMetaspaceDecoder(replacement, scheme);
}

DecoderResult ReadCtcDecoder(const Json& json) {
  ASSIGN_OR_RETURN(const std::string pad, RequiredString(json, "pad_token"));
  ASSIGN_OR_RETURN(const std::string delimiter, RequiredString(json, "word_delimiter_token"));
  ASSIGN_OR_RETURN(const bool cleanup, RequiredBool(json, "cleanup"));
  return MakeCtcDecoder(pad, delimiter, cleanup);
}

constexpr Type<Decoder> kDecoders[] = {
    {"ByteLevel", [](const Json&) -> DecoderResult { return MakeByteLevelDecoder(); }},
    {"Replace", ReadReplaceDecoder},
    {"WordPiece", ReadWordPieceDecoder},
    {"ByteFallback", [](const Json&) -> DecoderResult { return MakeByteFallbackDecoder(); }},
    {"Fuse", [](const Json&) -> DecoderResult { return MakeFuseDecoder(); }},
    {"Strip", ReadStripDecoder},
    {"Metaspace", ReadMetaspaceDecoder},
    {"BPEDecoder",
     [](const Json& json) -> DecoderResult {
       ASSIGN_OR_RETURN(std::string suffix, RequiredString(json, "suffix"));
       return MakeBpeDecoder(std::move(suffix));
     }},
    {"CTC", ReadCtcDecoder},
    {"Sequence",
     [](const Json& json) -> DecoderResult {
       ASSIGN_OR_RETURN(auto steps, Steps<Decoder>(json, "decoders", DecoderFromJson));
       return MakeDecoderSequence(std::move(steps));
     }},
};

}  // namespace

Result<std::unique_ptr<Normalizer>> NormalizerFromJson(const Json& json) {
  return ReadTyped<Normalizer>(json, "normalizer", kNormalizers);
}
Result<std::unique_ptr<PreTokenizer>> PreTokenizerFromJson(const Json& json) {
  return ReadTyped<PreTokenizer>(json, "pre_tokenizer", kPreTokenizers);
}
Result<std::unique_ptr<PostProcessor>> PostProcessorFromJson(const Json& json) {
  return ReadTyped<PostProcessor>(json, "post_processor", kPostProcessors);
}
Result<std::unique_ptr<Decoder>> DecoderFromJson(const Json& json) {
  return ReadTyped<Decoder>(json, "decoder", kDecoders);
}

}  // namespace tonnage
