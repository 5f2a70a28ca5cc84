#include "tokenizer/decoder.h"

#include <gtest/gtest.h>

#include "tokenizer/golden.h"
#include "tokenizer/utf8.h"

namespace tonnage {
namespace {

TEST(Decoder, DecodesLikeTheReferenceAndInWholeCharacters) {
  std::istringstream lines(golden::ReadFile(golden::Folder() / "decoders.jsonl"));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const Json row = ParseJson(line).value();
    const auto decoder = DecoderFromJson(row["decoder"]);
    ASSERT_TRUE(decoder.ok()) << line;
    const auto stage = (*decoder)->NewStage();
    std::string text;
    std::vector<DecodeChunk> chunks;
    const auto take = [&] {
      for (const DecodeChunk& chunk : chunks) {
        EXPECT_EQ(ValidUtf8Prefix(chunk.text), chunk.text.size()) << line;
        text += chunk.text;
      }
      chunks.clear();
    };
    for (const Json& token : row["tokens"]) {
      ASSERT_TRUE(stage->Push({token.get<std::string>()}, chunks).ok()) << line;
      take();
    }
    ASSERT_TRUE(stage->Finish(chunks).ok()) << line;
    take();
    EXPECT_EQ(text, row["text"].get<std::string>()) << line;
  }
  EXPECT_EQ(rows, 600);
}

}  // namespace
}  // namespace tonnage
