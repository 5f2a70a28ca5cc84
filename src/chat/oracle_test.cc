// Real chat templates against what Jinja2 renders for them. The templates are other people's files,
// so they are read from outside the project.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "chat/capabilities.h"
#include "chat/template.h"

namespace tonnage::chat {
namespace {

namespace fs = std::filesystem;

fs::path Oracles() {
  const char* folder = std::getenv("TONNAGE_ORACLES");
  return folder ? fs::path(folder) : fs::path(TONNAGE_SOURCE_DIR) / "../shared/oracles";
}

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Json VariablesOf(const Json& row) {
  Json variables = {{"messages", row["messages"]}, {"tools", row["tools"]}, {"documents", nullptr},
                    {"bos_token", "<BOS>"},        {"eos_token", "<EOS>"},  {"unk_token", "<UNK>"},
                    {"pad_token", "<PAD>"}};
  for (const auto& [key, value] : row["kwargs"].items()) variables[key] = value;
  return variables;
}

TEST(Oracle, EveryRenderingOfRealTemplatesIsJinjas) {
  const fs::path folder = Oracles() / "chats";
  if (!fs::exists(folder / "golden.jsonl")) GTEST_SKIP() << "no golden renderings in " << folder;
  RenderOptions options;
  options.now = {.year = 2026, .month = 11, .day = 29, .hour = 16, .minute = 20};
  std::map<std::string, Template> templates;
  std::ifstream rows(folder / "golden.jsonl");
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = ParseJson(line);
    ASSERT_TRUE(row.ok()) << row.error().message();
    const std::string name = (*row)["template"];
    auto it = templates.find(name);
    if (it == templates.end()) {
      auto parsed = Template::Parse(ReadFile(folder / "templates" / name));
      ASSERT_TRUE(parsed.ok()) << name << ": " << parsed.error().message();
      it = templates.emplace(name, std::move(*parsed)).first;
    }
    const auto rendered = it->second.Render(VariablesOf(*row), options);
    const std::string where = name + ", " + (*row)["case"].get<std::string>();
    if (row->contains("error")) {
      EXPECT_FALSE(rendered.ok()) << where << " should fail with " << (*row)["error"];
    } else if (rendered.ok()) {
      EXPECT_EQ(*rendered, (*row)["rendered"].get<std::string>()) << where;
    } else {
      ADD_FAILURE() << where << ": " << rendered.error().message();
    }
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace tonnage::chat
