#include "checkpoint/hub/cache.h"

#include <gtest/gtest.h>

#include "checkpoint/testing.h"

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    fs::create_directories(root_ / "blobs");
    fs::create_directories(root_ / "refs");
    fs::create_directories(root_ / "snapshots" / commit_ / "sub");
    std::ofstream(root_ / "refs" / "main") << commit_;
    std::ofstream(root_ / "blobs" / sha256_) << "weights";
    fs::create_symlink("../../blobs/" + sha256_, root_ / "snapshots" / commit_ / "w.gguf");
    fs::create_symlink("../../../blobs/" + sha256_, root_ / "snapshots" / commit_ / "sub" / "w");
    std::ofstream(root_ / "snapshots" / commit_ / "plain") << "no link";
  }

  testing::TemporaryFolder folder_;
  const std::string commit_ = std::string(40, '1');
  const std::string sha256_ = std::string(64, '2');
  const fs::path root_ = fs::path(folder_.path()) / "models--org--name";
  const Cache cache_{folder_.path()};
};

TEST_F(CacheTest, FindsByContentOrByPlace) {
  const File weights{"w.gguf", 7, {Digest::Kind::kSha256, sha256_}};
  EXPECT_EQ(cache_.Find("org/name", "other", weights), root_ / "blobs" / sha256_);
  fs::rename(root_ / "blobs", root_ / "moved");
  EXPECT_FALSE(cache_.Find("org/name", commit_, weights)) << "its link leads nowhere";
  const File plain{"plain", 7, {Digest::Kind::kGitSha1, std::string(40, '3')}};
  EXPECT_EQ(cache_.Find("org/name", commit_, plain), root_ / "snapshots" / commit_ / "plain");
  EXPECT_FALSE(cache_.Find("org/name", commit_, {"plain", 8, plain.digest})) << "another size";
  EXPECT_FALSE(cache_.Find("org/none", commit_, plain));
  EXPECT_FALSE(Cache("").Find("org/name", commit_, plain));
}

TEST_F(CacheTest, ListsWhatLinksVouchFor) {
  for (const std::string& revision : {std::string("main"), commit_}) {
    const auto listing = cache_.List("org/name", revision);
    ASSERT_TRUE(listing.ok()) << listing.error().message();
    EXPECT_EQ(listing->commit, commit_);
    ASSERT_EQ(listing->files.size(), 2u);
    EXPECT_EQ(listing->files[0].path, "sub/w");
    EXPECT_EQ(listing->files[1].bytes, 7);
    EXPECT_EQ(listing->files[1].digest.hex, sha256_);
  }
  EXPECT_FALSE(cache_.List("org/name", "v2").ok());
  std::ofstream(root_ / "refs" / "main") << "../../elsewhere";
  EXPECT_FALSE(cache_.List("org/name", "main").ok());
  EXPECT_FALSE(Cache("").List("org/name", commit_).ok());
}

}  // namespace
}  // namespace tonnage::hub
