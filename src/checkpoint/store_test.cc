#include "checkpoint/store.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tonnage {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : store_(fs::path(::testing::TempDir()) / ("store" + std::to_string(getpid()))) {
    fs::remove_all(store_.root());
  }
  ~StoreTest() override { fs::remove_all(store_.root()); }

  void Add(const std::string& name, const std::string& file) {
    auto folder = store_.BeginAdd(name);
    ASSERT_TRUE(folder.ok()) << folder.error().message();
    std::ofstream(*folder / file) << "12345";
    ASSERT_TRUE(store_.FinishAdd(name).ok());
  }

  ModelStore store_;
};

TEST_F(StoreTest, AModelAppearsWholeOrNotAtAll) {
  EXPECT_TRUE(store_.List()->empty());
  auto folder = store_.BeginAdd("half");
  ASSERT_TRUE(folder.ok());
  std::ofstream(*folder / "model.gguf") << "x";
  EXPECT_TRUE(store_.List()->empty());
  EXPECT_EQ(store_.Resolve("half").error().code(), Code::kUnreadable);
  ASSERT_TRUE(store_.FinishAdd("half").ok());
  EXPECT_EQ(store_.Resolve("half")->filename(), "model.gguf");
}

TEST_F(StoreTest, ListsResolvesReplacesAndRemoves) {
  Add("b", "weights.gguf");
  Add("a", "config.json");
  Add("b", "newer.gguf");
  auto models = store_.List();
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[0].name, "a");
  EXPECT_EQ((*models)[0].path, store_.root() / "models" / "a");
  EXPECT_EQ((*models)[1].path.filename(), "newer.gguf");
  EXPECT_EQ((*models)[1].bytes, 5);
  EXPECT_TRUE(store_.Remove("b").ok());
  EXPECT_FALSE(store_.Remove("b").ok());
  EXPECT_EQ(store_.List()->size(), 1u);
}

TEST_F(StoreTest, PathsWinAndNamesCannotClimb) {
  EXPECT_EQ(*store_.Resolve("/"), fs::path("/"));
  EXPECT_NE(store_.Resolve("no/such/model.gguf").error().message().find("no such file"),
            std::string::npos);
  EXPECT_EQ(store_.Remove("..").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.BeginAdd("a/../../b").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.Resolve("").error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tonnage
