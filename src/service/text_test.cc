#include "service/text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing.h"
#include "tokenizer/golden.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

// --- Vocabulary-only GGUF files of others
// ------------------------------------------------------------------------------

struct Sample {
  std::string text;
  Ids ids;
};

// Texts stand between lines `__ggml_vocab_test__`; ids one line a text, without special tokens.
std::vector<Sample> ReadSamples(const std::string& path) {
  const std::string texts = golden::ReadFile(path + ".inp");
  std::istringstream lines(golden::ReadFile(path + ".out"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<Sample> samples;
  for (std::size_t at = 0, end; (end = texts.find(separator, at)) != std::string::npos;
       at = end + separator.size()) {
    Sample sample{.text = texts.substr(at, end - at), .ids = {}};
    std::string line;
    EXPECT_TRUE(std::getline(lines, line)) << path;
    std::istringstream numbers(line);
    for (TokenId id; numbers >> id;) sample.ids.push_back(id);
    samples.push_back(std::move(sample));
  }
  return samples;
}

TEST(GgufVocabularies, GiveTheReferenceIds) {
  const fs::path folder = golden::Oracles() / "gguf_vocab";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << " (set TONNAGE_ORACLES)";
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    auto text = OpenModelText(entry.path().string());
    ASSERT_TRUE(text.ok()) << text.error().message();
    const std::vector<Sample> samples = ReadSamples(entry.path().string());
    EXPECT_GT(samples.size(), 40u) << entry.path();
    for (const Sample& sample : samples) {
      EXPECT_EQ(text->tokenizer->Encode(sample.text, false).value(), sample.ids)
          << entry.path() << ": " << sample.text;
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

// --- Folders
// ------------------------------------------------------------------------------------------------------------

class Folder : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view bytes) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  void Copy(const char* golden_name, const std::string& name) const {
    Write(name, golden::ReadFile(golden::Folder() / golden_name));
  }
  ModelText Open() const {
    auto text = OpenModelText(path_.string());
    EXPECT_TRUE(text.ok()) << text.error().message();
    return *std::move(text);
  }
  std::string ErrorOf() const {
    auto text = OpenModelText(path_.string());
    return text.ok() ? "" : text.error().message();
  }

  const testing::TemporaryFolder folder_;
  const fs::path path_{folder_.path()};
};

TEST_F(Folder, SentencePieceModel) {
  Copy("sp_bpe_bytes.model", "tokenizer.model");
  Write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "add_eos_token": true,
      "bos_token": {"content": "<s>"}, "eos_token": "</s>", "unk_token": "<unk>"})");
  const ModelText text = Open();
  for (const golden::Row& row : golden::ReadRows(golden::Folder() / "sp_bpe_bytes.jsonl")) {
    if (row.text.find('<') != std::string::npos) continue;
    EXPECT_EQ(text.tokenizer->Encode(row.text, false).value(), row.ids) << row.text;
  }
  EXPECT_EQ(text.tokenizer->Encode("", true).value(), (Ids{1, 2}));
  EXPECT_EQ(text.bos_token, "<s>");
  EXPECT_EQ(text.unk_token, "<unk>");
  EXPECT_EQ(text.end_ids, Ids{2});
  EXPECT_TRUE(text.chat_templates.empty());
}

TEST_F(Folder, SentencePieceWithTokensOfTheConfig) {
  Copy("sp_bpe.model", "tokenizer.model");
  const auto size = static_cast<TokenId>(Open().tokenizer->vocab_size());
  Write("tokenizer_config.json",
        fmt::format(
            R"({{"added_tokens_decoder": {{"{}": {{"content": "<|im_end|>", "special": true}}}}}})",
            size));
  const ModelText text = Open();
  EXPECT_EQ(text.tokenizer->Encode("<|im_end|>", false).value(), Ids{size});
  EXPECT_EQ(text.end_ids, (Ids{2, size}));
  Write("tokenizer_config.json",
        fmt::format(R"({{"added_tokens_decoder": {{"{}": {{"content": "<|im_end|>"}}}}}})",
                    size + 7));
  EXPECT_NE(ErrorOf().find("does not follow"), std::string::npos);
  Write("tokenizer_config.json", R"({"tokenizer_class": "XLMRobertaTokenizer"})");
  EXPECT_NE(ErrorOf().find("XLMRoberta"), std::string::npos);
}

TEST_F(Folder, Tiktoken) {
  Copy("tiktoken.tiktoken", "qwen.tiktoken");
  const ModelText text = Open();
  for (const golden::Row& row : golden::ReadRows(golden::Folder() / "tiktoken_qwen.jsonl")) {
    EXPECT_EQ(text.tokenizer->Encode(row.text, true).value(), row.ids) << row.text;
  }
  EXPECT_EQ(text.tokenizer->Encode("<|im_end|>", false).value(), Ids{602});
  EXPECT_EQ(text.end_ids, Ids{602});
}

TEST_F(Folder, TiktokenByTheClassInTheConfig) {
  Copy("tiktoken.tiktoken", "tiktoken.model");
  EXPECT_NE(ErrorOf().find("pattern"), std::string::npos);
  Write("tokenizer_config.json", R"({"tokenizer_class": "TikTokenTokenizer", "eos_token": "[EOS]",
      "added_tokens_decoder": {"605": {"content": "[EOS]", "special": true}}})");
  const ModelText text = Open();
  for (const golden::Row& row : golden::ReadRows(golden::Folder() / "tiktoken_kimi-k2.jsonl")) {
    EXPECT_EQ(text.tokenizer->Encode(row.text, false).value(), row.ids) << row.text;
  }
  EXPECT_EQ(text.end_ids, Ids{605});
}

TEST_F(Folder, Plamo) {
  Copy("plamo_rows.jsonl", "tokenizer.jsonl");
  const ModelText text = Open();
  EXPECT_EQ(text.tokenizer->Encode("", true).value(), Ids{1});
  EXPECT_EQ(text.bos_token, "<|plamo:bos|>");
  EXPECT_EQ(text.end_ids, Ids{2});
}

constexpr const char* kTinyTokenizer =
    R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "<e>": 1, "<f>": 2},
    "unk_token": "a"}, "added_tokens": [{"id": 1, "content": "<e>", "special": true}]})";

TEST_F(Folder, ChatTemplatesFromEveryPlace) {
  Write("tokenizer.json", kTinyTokenizer);
  Write("tokenizer_config.json", R"({"chat_template": "in config", "eos_token": "<e>"})");
  EXPECT_EQ(*Open().ChatTemplate(), "in config");
  Write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "one"},
      {"name": "tool_use", "template": "two"}]})");
  EXPECT_EQ(*Open().ChatTemplate("tool_use"), "two");
  Write("chat_template.jinja", "in a file");
  Write("additional_chat_templates/rag.jinja", "three");
  const ModelText text = Open();
  EXPECT_EQ(*text.ChatTemplate(), "in a file");
  EXPECT_EQ(*text.ChatTemplate("tool_use"), "two");
  EXPECT_EQ(*text.ChatTemplate("rag"), "three");
  EXPECT_EQ(text.ChatTemplate("other"), nullptr);
  Write("tokenizer_config.json", R"({"chat_template": 7})");
  EXPECT_NE(ErrorOf().find("chat_template"), std::string::npos);
}

TEST_F(Folder, EndIdsFromTheGenerationConfig) {
  Write("tokenizer.json", kTinyTokenizer);
  Write("tokenizer_config.json", R"({"eos_token": "<e>"})");
  Write("config.json", R"({"eos_token_id": 0})");
  EXPECT_EQ(Open().end_ids, (Ids{0, 1}));
  Write("generation_config.json", R"({"eos_token_id": [2, 1]})");
  EXPECT_EQ(Open().end_ids, (Ids{1, 2}));
}

TEST_F(Folder, SaysWhatIsMissingOrBroken) {
  EXPECT_NE(ErrorOf().find("no tokenizer.json"), std::string::npos);
  Write("tokenizer.json", "{");
  EXPECT_NE(ErrorOf().find("tokenizer.json"), std::string::npos);
  fs::remove(path_ / "tokenizer.json");
  Write("tokenizer.model", "\x0a\xff");
  EXPECT_NE(ErrorOf().find("tokenizer.model"), std::string::npos);
  EXPECT_NE(OpenModelText((path_ / "nothing.gguf").string()).error().message().find("no such"),
            std::string::npos);
}

}  // namespace
}  // namespace tonnage
