#include "base/json.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Json, RefusesWhatIsMalformedOrTooDeep) {
  EXPECT_FALSE(ParseJson("{\"a\":").ok());
  EXPECT_FALSE(ParseJson("").ok());
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_FALSE(ParseJson(std::string(100000, '[')).ok());
  EXPECT_FALSE(ParseJson(std::string(300, '[') + std::string(300, ']')).ok());
  EXPECT_TRUE(ParseJson(std::string(100, '[') + std::string(100, ']')).ok());
}

TEST(Json, BoundsTheNumberOfValues) {
  EXPECT_TRUE(ParseJson("[1,2,{\"a\":3}]", {.values = 5}).ok());
  EXPECT_FALSE(ParseJson("[1,2,{\"a\":3}]", {.values = 4}).ok());
  EXPECT_FALSE(ParseJson("[[[]]]", {.depth = 2}).ok());
}

TEST(Json, KeepsTheOrderOfKeysAndTheLastValueOfARepeatedOne) {
  const Json value = *ParseJson(R"({"b": 1, "a": {"x": [1, {}]}, "b": 2, "c": 3, "b": [4]})");
  EXPECT_EQ(DumpJson(value), R"({"b":[4],"a":{"x":[1,{}]},"c":3})");
}

// With a search for every key this would take minutes.
TEST(Json, ManyKeysTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += fmt::format("\"k{}\":0,", i);
  text.back() = '}';
  EXPECT_EQ(ParseJson(text)->size(), 300'000u);
}

// With a copy at every level this would take minutes.
TEST(Json, DeepObjectsTakeLinearTime) {
  std::string text = "[0";
  for (int i = 0; i < 100'000; ++i) text += ",[]";
  text += "]";
  for (int i = 0; i < 190; ++i) text = "{\"a\":" + text + ",\"b\":0,\"c\":0}";
  EXPECT_TRUE(ParseJson(text).ok());
}

TEST(Json, MessagesStayShort) {
  const std::string message = ParseJson("{\"" + std::string(100'000, 'x')).error().message();
  EXPECT_LT(message.size(), 400u);
  EXPECT_EQ(message.find("malformed JSON: parse error at line 1"), 0u) << message;
  EXPECT_FALSE(ParseJson("1e999").ok());
}

TEST(Json, TypedAccessNamesTheKey) {
  const Json config = *ParseJson(
      R"({"layers": 4, "eps": 1e-5, "big": 18446744073709551615, "name": null, "w": 4.0})");
  EXPECT_EQ(*JsonInt(config, "layers", 0), 4);
  EXPECT_EQ(*JsonInt(config, "w", 0), 4);
  EXPECT_EQ(*JsonInt(config, "absent", 9), 9);
  EXPECT_EQ(*JsonString(config, "name", "none"), "none");
  EXPECT_DOUBLE_EQ(*JsonDouble(config, "eps", 0), 1e-5);
  EXPECT_NE(JsonInt(config, "big", 0).error().message().find("`big`"), std::string::npos);
  EXPECT_NE(JsonBool(config, "layers", false).error().message().find("`layers`"),
            std::string::npos);
  EXPECT_NE(JsonRequiredInt(config, "heads").error().message().find("`heads`"), std::string::npos);
}

TEST(Json, IdsAreCheckedOneByOne) {
  EXPECT_EQ(*IdsFromJson(*ParseJson("[0, 5, 2147483647]")),
            (std::vector<std::int32_t>{0, 5, 2147483647}));
  EXPECT_TRUE(IdsFromJson(*ParseJson("[]"))->empty());
  for (const char* bad : {"{}", "[1.5]", "[-1]", "[2147483648]", "[\"1\"]", "[null]", "7"}) {
    EXPECT_EQ(IdsFromJson(*ParseJson(bad)).error().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(Json, DumpReplacesBadBytes) { EXPECT_EQ(DumpJson(Json("a\xff")), "\"a\xef\xbf\xbd\""); }

}  // namespace
}  // namespace tonnage
