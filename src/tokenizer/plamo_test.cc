#include "tokenizer/plamo.h"

#include <gtest/gtest.h>

#include "tokenizer/golden.h"

namespace tonnage {
namespace {

std::vector<PlamoRow> GoldenRows() {
  auto rows = ParsePlamoJsonl(golden::ReadFile(golden::Folder() / "plamo_rows.jsonl"));
  EXPECT_TRUE(rows.ok()) << rows.error().message();
  return *std::move(rows);
}

TEST(Plamo, EncodesAndDecodesLikeTheReference) {
  auto parts = MakePlamoParts(GoldenRows());
  ASSERT_TRUE(parts.ok()) << parts.error().message();
  auto tokenizer = Tokenizer::FromParts(*std::move(parts));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message();
  for (const golden::Row& row : golden::ReadRows(golden::Folder() / "plamo.jsonl")) {
    EXPECT_EQ((*tokenizer)->Encode(row.text, false).value(), row.ids) << row.text;
    EXPECT_EQ((*tokenizer)->Decode(row.ids, true).value(), row.decoded);
  }
}

TEST(Plamo, ControlRowsAreSpecialTokensAndMatchNoText) {
  auto plamo = Plamo::Create(GoldenRows());
  ASSERT_TRUE(plamo.ok());
  std::vector<int> ids;
  plamo->Encode("<|plamo:bos|>", ids);
  EXPECT_GT(ids.size(), 1u);
  auto tokenizer = Tokenizer::FromParts(MakePlamoParts(GoldenRows()).value());
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*tokenizer)->Encode("<|plamo:bos|>", false).value(), std::vector<int>{1});
}

TEST(Plamo, SpellsMalformedTextByteByByte) {
  auto plamo = Plamo::Create(GoldenRows());
  ASSERT_TRUE(plamo.ok());
  std::vector<int> ids;
  plamo->Encode("\xe6\x97\x80\x80\x80\xff", ids);
  EXPECT_EQ(ids, (std::vector<int>{4 + 0xe6, 4 + 0x97, 4 + 0x80, 4 + 0x80, 4 + 0x80, 4 + 0xff}));
}

TEST(Plamo, RefusesMalformedFilesNamingTheLine) {
  for (const char* text : {"", "{}", "[1, 2, 3]", "[\"a\"]", "[\"a\", 1, \"STRANGE\"]",
                           "[\"a\", 1, 2]", "[\"a\", 1"}) {
    EXPECT_FALSE(ParsePlamoJsonl(text).ok()) << text;
  }
  EXPECT_NE(ParsePlamoJsonl("[\"a\", 1, \"NORMAL\"]\nnothing\n").error().message().find("line 2"),
            std::string::npos);
}

TEST(Plamo, RefusesRowsThatCannotSpellEveryByte) {
  std::vector<PlamoRow> rows = GoldenRows();
  rows.erase(rows.begin() + 4 + 0x41);
  EXPECT_NE(Plamo::Create(std::move(rows)).error().message().find("<0x41>"), std::string::npos);
  rows = GoldenRows();
  rows[300].text = rows[301].text;
  EXPECT_NE(Plamo::Create(std::move(rows)).error().message().find("twice"), std::string::npos);
}

}  // namespace
}  // namespace tonnage
