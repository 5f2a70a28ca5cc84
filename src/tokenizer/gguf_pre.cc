#include "tokenizer/gguf_pre.h"

#include <algorithm>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

// The patterns are those of the models' own tokenizers. Where llama.cpp runs a simplified one
// because its matcher knows fewer classes (upper and lower case in gpt-4o, tekken and youtu,
// scripts in kimi-k2), ours follows the model.
using Steps = const CutStep[];

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(tail)                                                                           \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER \
  "*" tail
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define QWEN2(digits) \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES
#define MARKED_WORDS                                      \
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" \
  "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
#define CJK "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
#define NOT_HAN "(?!\\p{Han})"
#define KIMI(upper, lower) \
  "|[^\\r\\n\\p{L}\\p{N}]?(?:" NOT_HAN UPPER ")" upper "(?:" NOT_HAN LOWER ")" lower CONTRACTION "?"

constexpr Steps kDefault = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"};
constexpr Steps kGpt2 = {GPT2};
constexpr Steps kDigitsGpt2 = {"\\p{N}", GPT2};
constexpr Steps kLlama3 = {QWEN2("\\p{N}{1,3}")};
constexpr Steps kQwen2 = {QWEN2("\\p{N}")};
constexpr Steps kQwen35 = {CONTRACTION
                           "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                           "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SPACES};
// Inside white space that has been cut already no line can end any more: the look-behind saves
// looking for it.
constexpr Steps kJais2 = {
    CONTRACTION
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|(?<![^\\S\\r\\n])\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)"
    "|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"};
constexpr Steps kFalcon = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"};
// The letters of the second pattern are those with an upper- and a lower-case form.
constexpr Steps kDeepseekLlm = {
    "[\\r\\n]",
    "\\s?["
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-"
    "\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-"
    "\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5"
    "\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00"
    "-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-"
    "\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-"
    "\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-"
    "\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149"
    "\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13"
    "-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df"
    "\U0001e900-\U0001e943"
    "]+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    "\\s+$",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    "\\p{N}+"};
constexpr Steps kDeepseekCoder = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+",
                                  "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", "\\p{N}"};
constexpr Steps kDeepseekV3 = {"\\p{N}{1,3}", CJK,
                               MARKED_WORDS "| ?[\\p{P}\\p{S}]+[\\r\\n]*" SPACES};
constexpr Steps kSpark25 = {"\\p{N}{1,3}", CJK,
                            MARKED_WORDS "| ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+", "\\p{N}"};
constexpr Steps kYoutu = {
    "[\uac00-\ud7a3\u3131-\u318e]+"
    "|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
    "|[\u3105-\u312f]+|" CJK,
    CASED(CONTRACTION "?") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES};
constexpr Steps kGpt4o = {
    CASED(CONTRACTION "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES};
constexpr Steps kTekken = {CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES};
constexpr Steps kTinyAya = {
    CutStep::Kind::kWholeDigitsInThrees,
    CASED(CONTRACTION "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES};
constexpr Steps kBloom = {" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"};
constexpr Steps kViking = {" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+", "\\p{N}"};
constexpr Steps kChameleon = {"<sentinel:[0-9]+>",      "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                              "([\\t\\n]|    |  )",     "\\p{N}",
                              "[\\p{P}!-/:-@\\[-`{-~]", GPT2};
constexpr Steps kKimiK2 = {"\\p{Han}+" KIMI("*", "+")
                               KIMI("+", "*") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES};
constexpr Steps kSuperBpe = {"\\p{N}+", CutStep::Kind::kCutsBetweenThrees};
constexpr Steps kBailing = {
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"};
constexpr Steps kSeedCoder = {CONTRACTION
                              "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}"
                              "| ?[^\\s\\p{L}\\p{N}\\r\\n]+" SPACES};
constexpr Steps kUfakzeka = {
    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES};
constexpr Steps kAfmoe = {
    CutStep::Kind::kNumbersInThrees,
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f"
    "\u2f00-\u2fdf\u0e00-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f"
    "\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+",
    MARKED_WORDS "| ?[\\p{P}\\p{S}]+[\\r\\n]*" SPACES};
constexpr Steps kLaguna = {"[^\\n]+|[\\n]+", QWEN2("\\p{N}")};
// Letters with single spaces between them; possessive, so that long texts need no stack.
constexpr Steps kExaoneMoe = {CONTRACTION
                              "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}\\p{M}*+(?: ?\\p{L}\\p{M}*+)*+|\\p{N}"
                              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"};
constexpr Steps kLines = {"[^\\n]+|[\\n]+"};
constexpr Steps kMinicpm5 = {"\\p{N}{1,3}", QWEN2("\\p{N}+")};

constexpr GgufPreTokenizer kRows[] = {
    {"default", kDefault},
    {"minicpm5", kMinicpm5, {.ignore_merges = true}},
    {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     kLlama3,
     {.ignore_merges = true, .add_bos = true}},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", kDeepseekV3},
    {"spark2_5", kSpark25},
    {"youtu", kYoutu, {.ignore_merges = true}},
    {"falcon", kFalcon},
    {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", kDigitsGpt2},
    {"gpt-2 phi-2 mpt olmo jais trillion granite-docling jina-es jina-de jina-v1-en jina-v2-es "
     "jina-v2-de jina-v2-code gigachat a.x-4.0 mellum modern-bert roberta-bpe exaone4",
     kGpt2},
    {"jais-2", kJais2},
    {"gemma4 granite-embed-multi-311m", kLines, {.add_bos = true, .raw = true}},
    {"sarvam-moe", kLines, {.raw = true}},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan solar-open megrez grok-2", kQwen2},
    {"qwen35", kQwen35},
    {"dbrx smaug-bpe chatglm-bpe", kLlama3},
    {"glm4 glm5", kLlama3, {.ignore_merges = true}},
    {"poro-chat bloom gpt3-finnish", kBloom},
    {"viking", kViking},
    {"tekken", kTekken, {.ignore_merges = true, .add_bos = true}},
    {"exaone-moe", kExaoneMoe},
    {"chameleon", kChameleon, {.add_bos = true}},
    {"gpt-4o llama4 kanana2 talkie minimax-m2", kGpt4o},
    {"granite-embed-multi-97m", kGpt4o, {.ignore_merges = true}},
    {"tiny_aya cohere2moe", kTinyAya},
    {"superbpe", kSuperBpe},
    {"bailingmoe bailingmoe2 llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"kimi-k2", kKimiK2},
    {"ufakzeka", kUfakzeka},
    {"afmoe", kAfmoe},
    {"laguna", kLaguna},
};

#undef CONTRACTION
#undef SPACES
#undef UPPER
#undef LOWER
#undef CASED
#undef GPT2
#undef QWEN2
#undef MARKED_WORDS
#undef CJK
#undef NOT_HAN
#undef KIMI

// Cuts runs of digits in threes, counted from the right.
class DigitGroups : public PreTokenizer {
 public:
  explicit DigitGroups(CutStep::Kind kind) : kind_(kind) {}

  Status Split(PieceList& list) const override {
    list.Map([&](const Piece& piece, std::vector<Piece>& out) {
      std::size_t begin = 0;
      for (const std::size_t cut : Cuts(piece.text)) {
        out.push_back(piece.Slice(begin, cut));
        begin = cut;
      }
      out.push_back(piece.Slice(begin, piece.text.size()));
    });
    return {};
  }

 private:
  // Where to cut, ascending.
  std::vector<std::size_t> Cuts(std::string_view text) const {
    const CharClasses& classes = CharClasses::Get();
    const std::uint32_t digit = kind_ == CutStep::Kind::kNumbersInThrees ? kNumber : kNd;
    std::vector<std::size_t> cuts;
    std::vector<std::size_t> run;  // where each digit of the run begins
    for (std::size_t at = 0;;) {
      const std::size_t begin = at;
      const std::uint32_t bits = at < text.size() ? classes[NextChar(text, at)] : 0;
      if ((bits & digit) != 0) {
        run.push_back(begin);
        continue;
      }
      const bool bounded = (bits & kRegexWord) == 0;
      if (!run.empty() && (bounded || kind_ != CutStep::Kind::kWholeDigitsInThrees)) {
        const bool isolated = kind_ != CutStep::Kind::kCutsBetweenThrees;
        if (isolated && run.size() % 3 != 0) cuts.push_back(run.front());
        for (std::size_t i = run.size() % 3; i < run.size(); i += 3) cuts.push_back(run[i]);
        if (isolated) cuts.push_back(begin);
      }
      run.clear();
      if (begin == text.size()) return cuts;
    }
  }

  CutStep::Kind kind_;
};

}  // namespace

Result<std::vector<std::unique_ptr<PreTokenizer>>> MakeCutSteps(const GgufPreTokenizer& row) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const CutStep& step : row.steps) {
    if (step.kind != CutStep::Kind::kPattern) {
      steps.push_back(std::make_unique<DigitGroups>(step.kind));
      continue;
    }
    ASSIGN_OR_RETURN(auto split,
                     MakeSplitRegexPreTokenizer(step.pattern, SplitBehavior::kIsolated, false));
    steps.push_back(std::move(split));
  }
  return steps;
}

std::span<const GgufPreTokenizer> GgufPreTokenizers() { return kRows; }

Result<const GgufPreTokenizer*> FindGgufPreTokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  for (const GgufPreTokenizer& row : kRows) {
    for (std::string_view names = row.names; !names.empty();) {
      const std::size_t end = std::min(names.find(' '), names.size());
      if (names.substr(0, end) == name) return &row;
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return Unsupported("the pre-tokenizer \"{}\" (tokenizer.ggml.pre) is not known", name);
}

}  // namespace tonnage
