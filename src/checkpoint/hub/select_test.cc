#include "checkpoint/hub/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tonnage::hub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<std::string>> Select(const std::vector<std::string>& paths,
                                        const std::string& file = "") {
  Listing listing;
  for (const std::string& path : paths) listing.files.push_back({.path = path, .bytes = 3 * kGiB});
  ASSIGN_OR_RETURN(const auto files, SelectFiles(listing, {.repository = "a/b", .file = file}));
  std::vector<std::string> selected;
  for (const File& chosen : files) selected.push_back(chosen.path);
  return selected;
}

TEST(SelectTest, AFolderIsItsShardsConfigTokenizerAndTemplates) {
  EXPECT_THAT(
      *Select({"README.md", "config.json", "model-00001-of-00002.safetensors",
               "model-00002-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.json",
               "additional_chat_templates/rag.jinja", "original/model.safetensors",
               "consolidated.safetensors", "pytorch_model.bin", "qwen.tiktoken", "extra.gguf"}),
      ElementsAre("config.json", "model-00001-of-00002.safetensors",
                  "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                  "tokenizer.json", "additional_chat_templates/rag.jinja", "qwen.tiktoken"));
}

TEST(SelectTest, GgufByPathNameAndTag) {
  const std::vector<std::string> paths = {"m-Q4_K_M.gguf",
                                          "m-UD-Q4_K_XL.gguf",
                                          "m.f16.gguf",
                                          "big/m-BF16-00001-of-00002.gguf",
                                          "big/m-BF16-00002-of-00002.gguf",
                                          "mmproj-f16.gguf"};
  EXPECT_THAT(*Select(paths, "Q4_K_M"), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(*Select(paths, "q4_k_xl"), ElementsAre("m-UD-Q4_K_XL.gguf"));
  EXPECT_THAT(*Select(paths, "UD-Q4_K_XL"), ElementsAre("m-UD-Q4_K_XL.gguf"));
  EXPECT_THAT(*Select(paths, "F16"), ElementsAre("m.f16.gguf"));
  EXPECT_THAT(*Select(paths, "m.f16.gguf"), ElementsAre("m.f16.gguf"));
  for (const char* pick : {"bf16", "m-BF16-00002-of-00002.gguf", "big/m-BF16-00001-of-00002.gguf"})
    EXPECT_EQ(Select(paths, pick)->size(), 2u) << pick;
  EXPECT_THAT(*Select({"only.gguf", "mmproj.gguf"}), ElementsAre("only.gguf"));
}

TEST(SelectTest, GgufFilesLeaveTheirFolder) {
  EXPECT_EQ(LocalPath({.path = "big/m.gguf"}), "m.gguf");
  EXPECT_EQ(LocalPath({.path = "additional_chat_templates/a.jinja"}),
            "additional_chat_templates/a.jinja");
}

TEST(SelectTest, SeveralAreListedAsOneWouldWriteThem) {
  const Error error = Select({"m-Q4_0.gguf", "m-Q8_0.gguf", "n-Q8_0.gguf"}).error();
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("3.0 GiB  `a/b:Q4_0`"));
  EXPECT_THAT(error.message(), HasSubstr("`a/b:m-Q8_0.gguf`"));
  EXPECT_THAT(Select({"m-Q8_0.gguf", "n-Q8_0.gguf"}, "Q8_0").error().message(),
              HasSubstr("2 GGUF files of that name"));
  EXPECT_THAT(Select({"m-Q8_0.gguf"}, "Q4_0").error().message(), HasSubstr("these are there"));
}

TEST(SelectTest, WhatIsIncompleteUnknownOrUnsafe) {
  EXPECT_THAT(Select({"m-00001-of-00003.gguf", "m-00003-of-00003.gguf"}).error().message(),
              HasSubstr("2 of the 3 parts"));
  EXPECT_EQ(Select({"pytorch_model.bin"}).error().code(), Code::kUnsupported);
  EXPECT_EQ(Select({"model.safetensors"}).error().code(), Code::kUnsupported) << "no config.json";
  EXPECT_EQ(Select({"model.safetensors", "config.json"}, "Q4_0").error().code(),
            Code::kUnsupported);
  EXPECT_EQ(Select({"../m.gguf"}).error().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace tonnage::hub
