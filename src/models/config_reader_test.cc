#include "models/config_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tonnage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConfigReader, ReadsEveryKind) {
  const Json json{{"n", 3},          {"x", 0.5},       {"b", true},      {"s", "word"},
                  {"null", nullptr}, {"ints", {1, 2}}, {"xs", {0.5, 1}}, {"words", {"a", "b"}}};
  ConfigReader r(json);
  EXPECT_EQ(r.Int("n", {1, 5}), 3);
  EXPECT_EQ(r.IntOr("null", 4, {1, 5}), 4);
  EXPECT_EQ(r.Number("x", {0, 1}), 0.5);
  EXPECT_TRUE(r.BoolOr("b", false));
  EXPECT_EQ(r.StringOr("s", ""), "word");
  EXPECT_THAT(r.Ints("ints", {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(r.Numbers("xs", {0, 1}), ElementsAre(0.5, 1));
  EXPECT_THAT(r.Strings("words"), ElementsAre("a", "b"));
  EXPECT_THAT(r.Ints("absent", {1, 2}), IsEmpty());
  EXPECT_FALSE(r.Has("null"));
  EXPECT_TRUE(r.status().ok());
}

TEST(ConfigReader, KeepsTheFirstErrorAndStaysInRange) {
  const Json json{{"big", 9}, {"word", "x"}};
  ConfigReader r(json);
  EXPECT_EQ(r.Int("big", {1, 5}), 1);
  EXPECT_EQ(r.Int("absent", {2, 5}), 2);
  EXPECT_EQ(r.Number("word", {3, 5}), 3);
  ASSERT_FALSE(r.status().ok());
  EXPECT_EQ(r.status().error().message(), "`big` is 9; it must be from 1 to 5");
}

TEST(ConfigReader, NamesTheKeyOfEveryError) {
  const Json json{{"word", "x"}, {"list", {1, "x"}}, {"nulls", {nullptr}}, {"n", 1}};
  const std::pair<std::function<void(ConfigReader&)>, std::string_view> cases[] = {
      {[](ConfigReader& r) {
         r.Int("absent", {0, 1});
       },
       "`absent` is missing"},
      {[](ConfigReader& r) {
         r.Int("word", {0, 1});
       },
       "`word` must be a whole number"},
      {[](ConfigReader& r) { r.BoolOr("n", false); }, "`n` must be true or false"},
      {[](ConfigReader& r) { r.StringOr("n", ""); }, "`n` must be a string"},
      {[](ConfigReader& r) {
         r.Ints("word", {0, 1});
       },
       "`word` must be a list"},
      {[](ConfigReader& r) {
         r.Ints("list", {0, 1});
       },
       "`list` must be a whole number"},
      {[](ConfigReader& r) {
         r.Numbers("nulls", {0, 1});
       },
       "`nulls` has a null element"},
      {[](ConfigReader& r) { r.Strings("list"); }, "`list` must be a string"},
  };
  for (const auto& [read, message] : cases) {
    ConfigReader r(json);
    read(r);
    ASSERT_FALSE(r.status().ok()) << message;
    EXPECT_THAT(r.status().error().message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace tonnage
