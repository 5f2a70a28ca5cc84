#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tokenizer/golden.h"

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

}  // namespace
}  // namespace tonnage
