#include "convert/target.h"

#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/testing.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

TEST(Target, AppearsWholeOrNotAtAll) {
  const testing::TemporaryFolder folder;
  const fs::path place = fs::path(folder.path()) / "new" / "model";
  {
    auto target = Target::Begin(place, false, 0);
    ASSERT_TRUE(target.ok()) << target.error().message();
    fs::create_directory(target->path());
    std::ofstream(target->path() / "half") << "half";
  }
  EXPECT_TRUE(fs::is_empty(place.parent_path())) << "nothing is left of what was given up";
  {
    auto target = Target::Begin(place, false, 0);
    ASSERT_TRUE(target.ok());
    fs::create_directory(target->path());
    std::ofstream(target->path() / "whole") << "whole";
    EXPECT_FALSE(fs::exists(place));
    ASSERT_TRUE(target->Finish().ok());
  }
  EXPECT_TRUE(fs::exists(place / "whole"));
}

TEST(Target, WhatIsThereIsReplacedOnlyWhenAskedFor) {
  const testing::TemporaryFolder folder;
  const std::string place = folder.Write("model.gguf", "old");
  const auto refused = Target::Begin(place, false, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  auto target = Target::Begin(place, true, 0);
  ASSERT_TRUE(target.ok());
  std::ofstream(target->path()) << "new!";
  EXPECT_EQ(fs::file_size(place), 3u);
  ASSERT_TRUE(target->Finish().ok());
  EXPECT_EQ(fs::file_size(place), 4u);
}

TEST(Target, ADiskWithoutRoomIsToldWithTheNumbers) {
  const testing::TemporaryFolder folder;
  const auto refused = Target::Begin(fs::path(folder.path()) / "model", false, Bytes{1} << 60);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("are needed, but the disk has"), std::string::npos);
}

}  // namespace
}  // namespace tonnage
