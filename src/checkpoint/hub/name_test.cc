#include "checkpoint/hub/name.h"

#include <gtest/gtest.h>

namespace tonnage::hub {
namespace {

TEST(ModelNameTest, PartsAndStoreNames) {
  const struct {
    const char *text, *repository, *revision, *file, *store;
  } kCases[] = {
      {"Qwen/Qwen3-4B", "Qwen/Qwen3-4B", "main", "", "Qwen/Qwen3-4B"},
      {"a/b.c@v1.0", "a/b.c", "v1.0", "", "a/b.c@v1.0"},
      {"a/b:Q4_K_M", "a/b", "main", "Q4_K_M", "a/b:Q4_K_M"},
      {"a/b@main:x/y-00001-of-00002.gguf", "a/b", "main", "x/y-00001-of-00002.gguf",
       "a/b:y-00001-of-00002.gguf"},
      {"hf.co/a/b:q8_0", "a/b", "main", "q8_0", "a/b:q8_0"},
      {"https://huggingface.co/a/b", "a/b", "main", "", "a/b"},
  };
  for (const auto& want : kCases) {
    const auto name = ModelName::Parse(want.text);
    ASSERT_TRUE(name.ok()) << name.error().message();
    EXPECT_EQ(name->repository, want.repository);
    EXPECT_EQ(name->revision, want.revision);
    EXPECT_EQ(name->file, want.file);
    EXPECT_EQ(name->StoreName(), want.store);
  }
}

TEST(ModelNameTest, RefusesWhatTheHubWould) {
  for (const char* text : {"",
                           "a",
                           "a/",
                           "/b",
                           "a/b/c",
                           "../b",
                           "a/..",
                           "a/b..c",
                           "a/b--c",
                           "-a/b",
                           "a/b-",
                           "a/b.git",
                           "a/b:",
                           "a/b@",
                           "a/b:../c",
                           "a/b:/etc/passwd",
                           "a/b:c//d",
                           "a/b@x/y",
                           "a/b?x",
                           "a/b c",
                           "a/b:\x1b[2J",
                           "a/b%2e"}) {
    const auto name = ModelName::Parse(text);
    ASSERT_FALSE(name.ok()) << text;
    EXPECT_EQ(name.error().code(), Code::kInvalidArgument);
  }
}

TEST(PlainPathTest, MayNotClimbHideOrSurprise) {
  EXPECT_TRUE(IsPlainPath("model-00001-of-00002.safetensors"));
  EXPECT_TRUE(IsPlainPath("additional_chat_templates/tool_use.jinja"));
  for (const char* path : {"", "/a", "a/", "a//b", "..", "a/../b", "./a", ".hidden", "a\\b", "a\nb",
                           "C:x", "a b", "\xc3\xa9", "-rf"}) {
    EXPECT_FALSE(IsPlainPath(path)) << path;
  }
  EXPECT_FALSE(IsPlainPath(std::string(300, 'a')));
}

}  // namespace
}  // namespace tonnage::hub
