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

TEST_F(StoreTest, OwnersHoldModels) {
  Add("qwen/small", "config.json");
  Add("qwen/small:q4@v1", "small.gguf");
  Add("plain", "model.gguf");
  auto models = store_.List();
  ASSERT_EQ(models->size(), 3u);
  EXPECT_EQ((*models)[1].name, "qwen/small");
  EXPECT_EQ((*models)[2].name, "qwen/small:q4@v1");
  EXPECT_EQ(*store_.Resolve("qwen/small"), store_.root() / "models" / "qwen" / "small");
  EXPECT_EQ(store_.Resolve("qwen/small:q4@v1")->filename(), "small.gguf");
  EXPECT_EQ(store_.Resolve("qwen").error().code(), Code::kUnreadable) << "an owner is no model";
  EXPECT_EQ(store_.Remove("qwen").error().code(), Code::kUnreadable);
  EXPECT_TRUE(store_.Remove("qwen/small").ok());
  EXPECT_TRUE(fs::exists(store_.root() / "models" / "qwen"));
  EXPECT_TRUE(store_.Remove("qwen/small:q4@v1").ok());
  EXPECT_FALSE(fs::exists(store_.root() / "models" / "qwen")) << "gone with its last model";
}

TEST_F(StoreTest, RemoveClearsAnUnfinishedDownload) {
  auto folder = store_.DownloadFolder("qwen/small");
  ASSERT_TRUE(folder.ok());
  std::ofstream(*folder / "lock");
  EXPECT_TRUE(store_.List()->empty());
  EXPECT_EQ(store_.Remove("qwen").error().code(), Code::kUnreadable);
  EXPECT_TRUE(store_.Remove("qwen/small").ok());
  EXPECT_FALSE(fs::exists(*folder));
}

TEST_F(StoreTest, SpaceIsCheckedWithBothNumbers) {
  EXPECT_TRUE(store_.CheckSpace(1).ok());
  const Status full = store_.CheckSpace(INT64_MAX);
  EXPECT_EQ(full.error().code(), Code::kRefused);
  EXPECT_NE(full.error().message().find("free"), std::string::npos);
}

TEST_F(StoreTest, PathsWinAndNamesCannotClimb) {
  EXPECT_EQ(*store_.Resolve("/"), fs::path("/"));
  EXPECT_NE(store_.Resolve("no/such/model.gguf").error().message().find("no such file"),
            std::string::npos);
  EXPECT_EQ(store_.Remove("..").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.BeginAdd("a/../../b").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.BeginAdd("../b").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.BeginAdd("a/b/c").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.BeginAdd("a/").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_.Resolve("").error().code(), Code::kInvalidArgument);
  EXPECT_NE(store_.Resolve("no/such").error().message().find("tonnage pull no/such"),
            std::string::npos);
}

}  // namespace
}  // namespace tonnage
