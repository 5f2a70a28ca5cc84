#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/golden.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

// Other people's tokenizers, unpacked once into a folder that goes away with the process.
class Families {
 public:
  static const Families& Get() {
    static const Families families;
    return families;
  }
  bool found() const { return found_; }
  fs::path Folder(const std::string& family) const { return root_ / family; }

 private:
  Families() : root_(fs::temp_directory_path() / fmt::format("tonnage-families-{}", ::getpid())) {
    const fs::path archive = golden::Oracles() / "tokenizers.tar.xz";
    if (!fs::exists(archive)) return;
    fs::create_directories(root_);
    const std::string command =
        fmt::format("tar -xJf '{}' -C '{}' --strip-components=1", archive.string(), root_.string());
    found_ = std::system(command.c_str()) == 0;
  }
  ~Families() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  fs::path root_;
  bool found_ = false;
};

std::unique_ptr<Tokenizer> Load(const fs::path& folder) {
  Result<std::unique_ptr<Tokenizer>> tokenizer =
      Tokenizer::FromJson(golden::ReadFile(folder / "tokenizer.json"),
                          golden::ReadFile(folder / "tokenizer_config.json"));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message();
  return tokenizer.ok() ? std::move(tokenizer).value() : nullptr;
}

class FamilyTest : public testing::TestWithParam<const char*> {};

TEST_P(FamilyTest, GivesTheReferenceIdsAndTexts) {
  const std::string family = GetParam();
  const fs::path rows = golden::Oracles() / "tokens" / (family + ".jsonl");
  if (!Families::Get().found() || !fs::exists(rows)) {
    GTEST_SKIP() << "no " << golden::Oracles() << " (set TONNAGE_ORACLES)";
  }
  const std::unique_ptr<Tokenizer> tokenizer = Load(Families::Get().Folder(family));
  ASSERT_NE(tokenizer, nullptr);
  std::istringstream lines(golden::ReadFile(rows));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json row = ParseJson(line).value();
    const std::string text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<std::vector<TokenId>>();
    EXPECT_EQ(tokenizer->Encode(text, false).value(), ids) << row["text"];
    EXPECT_EQ(tokenizer->Encode(text, true).value(), row["ids_special"].get<std::vector<TokenId>>())
        << row["text"];
    EXPECT_EQ(tokenizer->Decode(ids, false).value(), row["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer->Decode(ids, true).value(), row["decoded_skip"].get<std::string>());
  }
  EXPECT_GT(count, 100);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTest,
                         testing::Values("deepseek_v3", "gemma3", "gptoss", "llama2", "llama3",
                                         "mistral_nemo", "qwen3"),
                         [](const auto& info) { return std::string(info.param); });

// Random tokenizers over the whole format, made and answered by tests/compare/tokenizers_random.py.
// Null is where the reference itself fails.
TEST(Tokenizer, AgreesWithTheReferenceOnRandomTokenizers) {
  std::istringstream lines(golden::ReadFile(golden::Folder() / "random.jsonl"));
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json test = ParseJson(line).value();
    const std::string file = DumpJson(test["tokenizer"]);
    const auto made = Tokenizer::FromJson(file);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const Tokenizer& tokenizer = **made;
    for (const Json& row : test["rows"]) {
      const std::string text = row["text"].get<std::string>();
      for (const bool special : {false, true}) {
        const Json& ids = row[special ? "ids_special" : "ids"];
        if (ids.is_null()) continue;
        ASSERT_EQ(Json(tokenizer.Encode(text, special).value()), ids) << row["text"] << file;
        ++checked;
      }
      const Json& ids = row["ids_special"].is_null() ? row["ids"] : row["ids_special"];
      if (ids.is_null()) continue;
      for (const bool skip : {false, true}) {
        const Json& decoded = row[skip ? "decoded_skip" : "decoded"];
        if (decoded.is_null()) continue;
        ASSERT_EQ(tokenizer.Decode(ids.get<std::vector<TokenId>>(), skip).value(),
                  decoded.get<std::string>())
            << ids << file;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 2000);
}

// A byte-level tokenizer of 256 bytes and a few merges, with the parts that `more` gives.
std::string ByteLevelJson(const std::string& more) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocab[CharToString(ByteToChar(static_cast<unsigned char>(byte)))] = byte;
  }
  vocab["aa"] = 256;
  vocab["aaaa"] = 257;
  vocab["\u0120a"] = 258;
  vocab["\u0120\u0120"] = 259;
  vocab["\u00CC\u0123"] = 260;
  return R"({"model": {"type": "BPE", "vocab": )" + DumpJson(vocab) +
         R"(, "merges": ["a a", "aa aa", "\u0120 a", "\u0120 \u0120", "\u00CC \u0123"]})" + more +
         "}";
}

std::unique_ptr<Tokenizer> Make(const std::string& json, const std::string& config = "") {
  auto made = Tokenizer::FromJson(json, config);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? std::move(made).value() : nullptr;
}

const std::string kGpt2Parts =
    R"(, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})";

TEST(Tokenizer, ReplacesInvalidUtf8) {
  const auto tokenizer = Make(ByteLevelJson(kGpt2Parts));
  const auto ids = tokenizer->Encode("a\xE4\xB8 b\xFF", false).value();
  EXPECT_EQ(ids, tokenizer->Encode("a\uFFFD b\uFFFD", false).value());
  EXPECT_EQ(tokenizer->Decode(ids, false).value(), "a\uFFFD b\uFFFD");
}

TEST(Tokenizer, PassesOverIdsThatDoNotExist) {
  const auto tokenizer = Make(ByteLevelJson(kGpt2Parts));
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{97, 5000, -1, 98}, false).value(), "ab");
}

// Twice the text may take little more than twice as long, and a megabyte but a moment, whatever the
// text is.
TEST(Tokenizer, HostileTextCostsNoMoreThanOtherText) {
  const std::string parts[] = {
      kGpt2Parts,
      R"(, "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)|\\s*[\\r\\n]+|\\p{L}+|\\s+"},
           "behavior": "Isolated", "invert": false})",
      R"(, "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
           "pre_tokenizer": {"type": "BertPreTokenizer"},
           "added_tokens": [{"id": 261, "content": "aab", "lstrip": true, "rstrip": true, "normalized": true}])"};
  const auto repeated = [](std::string_view unit, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += unit;
    return text;
  };
  for (const std::string& part : parts) {
    const auto tokenizer = Make(ByteLevelJson(part));
    for (const char* unit :
         {"a", " ", "\u0301", "\u0301\u0316", "\n", " \n", "a ", "\u200D", "é"}) {
      const std::string text = repeated(unit, 1 << 20);
      const auto start = std::chrono::steady_clock::now();
      ASSERT_TRUE(tokenizer->Encode(text, true).ok());
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20))
          << testing::PrintToString(unit) << part;
    }
  }
}

TEST(Tokenizer, ManyThreadsGetTheSameIds) {
  const auto tokenizer = Make(ByteLevelJson(kGpt2Parts));
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back(fmt::format("text {} aaaa  aa {}", i, i * 7919));
  std::vector<std::vector<TokenId>> expected;
  for (const std::string& text : texts) expected.push_back(tokenizer->Encode(text, false).value());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::size_t at = (i * 7 + t * 50) % texts.size();
        wrong += tokenizer->Encode(texts[at], false).value() != expected[at];
        wrong += tokenizer->Decode(expected[at], false).value() != texts[at];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Tokenizer, TakesFromTheConfigWhatTheFileLeavesOpen) {
  const auto tokenizer =
      Make(ByteLevelJson(kGpt2Parts),
           R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": true,
      "added_tokens_decoder": {"262": {"content": "</s>", "special": true}, "261": {"content": "<s>", "special": true}}})");
  EXPECT_EQ(tokenizer->bos(), 261);
  EXPECT_EQ(tokenizer->eos(), 262);
  EXPECT_EQ(tokenizer->Encode("aaaa</s>", true).value(), (std::vector<TokenId>{261, 257, 262}));
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{261, 97, 262}, true).value(), "a");
  EXPECT_EQ(tokenizer->vocab_size(), 263u);
}

TEST(Tokenizer, ThePostProcessorOfTheFileStaysAsItIs) {
  const auto tokenizer =
      Make(ByteLevelJson(kGpt2Parts +
                         R"(, "post_processor": {"type": "ByteLevel", "trim_offsets": true})"),
           R"({"bos_token": "a", "add_bos_token": true})");
  EXPECT_EQ(tokenizer->Encode("b", true).value(), (std::vector<TokenId>{98}));
}

TEST(Tokenizer, RefusesByName) {
  const std::pair<std::string, std::string> cases[] = {
      {"{", "malformed JSON"},
      {"[]", "not an object"},
      {"{}", "`model` is missing"},
      {std::string(100000, '['), "nested deeper"},
      {R"({"version": "2.0"})", "version `2.0`"},
      {R"({"model": {"type": "Kana"}})", "model `Kana`"},
      {R"({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1}})", "dropout"},
      {R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", "the id of `a`"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 4294967295}, "merges": []}})", "the id of `a`"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})",
       "`b` is not in the vocabulary"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}})", "its result `aa`"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})", "not two tokens"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}})", "unk_id 1"},
      {R"({"model": {"type": "Unigram", "vocab": [["a"]]}})", "not [token, score]"},
      {ByteLevelJson(R"(, "normalizer": {"type": "Zalgo"})"), "normalizer `Zalgo`"},
      {ByteLevelJson(R"(, "pre_tokenizer": {"type": "FixedLength", "length": 0})"),
       "`length` is 0"},
      {ByteLevelJson(
           R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\X"}, "behavior": "Removed", "invert": false})"),
       "\\X"},
      {ByteLevelJson(R"(, "decoder": {"type": "Strip", "content": "ab", "start": 0, "stop": 0})"),
       "one character"},
      {ByteLevelJson(
           R"(, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
                        "pair": [], "special_tokens": {}})"),
       "`x` is not among its special_tokens"},
      {ByteLevelJson(
           R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////w=="})"),
       "trie of 4294967295"},
  };
  for (const auto& [json, message] : cases) {
    const auto made = Tokenizer::FromJson(json);
    ASSERT_FALSE(made.ok()) << json.substr(0, 200);
    EXPECT_NE(made.error().message().find(message), std::string::npos) << made.error().message();
  }
}

}  // namespace
}  // namespace tonnage
