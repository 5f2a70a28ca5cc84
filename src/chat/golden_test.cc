// Our own templates against what Jinja2 rendered for them: one for each feature
// (tests/compare/jinja_features.py), and random ones (tests/compare/jinja_random.py).
#include <gtest/gtest.h>

#include <fstream>

#include "chat/template.h"

namespace tonnage::chat {
namespace {

void CheckRows(const std::string& name, int at_least) {
  std::ifstream rows(std::string(TONNAGE_SOURCE_DIR) + "/tests/golden/chat/" + name);
  RenderOptions options;
  options.now = {.year = 2026, .month = 11, .day = 29, .hour = 16, .minute = 20};
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = ParseJson(line);
    ASSERT_TRUE(row.ok()) << row.error().message();
    const std::string source = (*row)["template"];
    const auto parsed = Template::Parse(source);
    const Result<std::string> rendered =
        parsed.ok() ? parsed->Render((*row)["variables"], options) : parsed.error();
    if (row->contains("error")) {
      EXPECT_FALSE(rendered.ok()) << source << "\nshould fail with " << (*row)["error"];
    } else if (rendered.ok()) {
      EXPECT_EQ(*rendered, (*row)["rendered"].get<std::string>()) << source;
    } else {
      ADD_FAILURE() << source << "\n" << rendered.error().message();
    }
  }
  EXPECT_GE(count, at_least);
}

TEST(Golden, EveryFeatureIsJinjas) { CheckRows("features.jsonl", 150); }
TEST(Golden, RandomTemplatesAreJinjas) { CheckRows("random.jsonl", 200); }

}  // namespace
}  // namespace tonnage::chat
