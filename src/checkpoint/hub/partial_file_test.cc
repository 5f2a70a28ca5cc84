#include "checkpoint/hub/partial_file.h"

#include <gtest/gtest.h>

#include "checkpoint/testing.h"

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

class PartialFileTest : public ::testing::Test {
 protected:
  PartialFileTest() {
    const std::string source = folder_.Write("source", content_);
    file_ = {"w.gguf", static_cast<Bytes>(content_.size()),
             *FileDigest(source, Digest::Kind::kSha256)};
  }

  PartialFile Open() { return *PartialFile::Open(folder_.path(), file_); }
  void Fetch(PartialFile& partial, std::int64_t block, char spoil = 0) {
    const Bytes first = partial.blocks().first(block), end = partial.blocks().end(block);
    std::string bytes =
        content_.substr(static_cast<size_t>(first), static_cast<size_t>(end - first));
    bytes[0] = static_cast<char>(bytes[0] ^ spoil);
    ASSERT_TRUE(partial.Write(first, testing::AsBytes(bytes)).ok());
    ASSERT_TRUE(partial.MarkDone(block).ok());
  }
  fs::path Final() const { return fs::path(folder_.path()) / file_.digest.hex; }

  testing::TemporaryFolder folder_;
  const std::string content_ = std::string(2 * PartialFile::kBlockBytes + 5, 'w');
  File file_;
};

TEST_F(PartialFileTest, ContinuesWhereItStoppedAndGetsItsNameAtTheEnd) {
  {
    PartialFile first = Open();
    Fetch(first, 2);
    Fetch(first, 0);
  }
  EXPECT_EQ(PartialFile::Done(folder_.path(), file_).done_bytes(), PartialFile::kBlockBytes + 5);
  PartialFile second = Open();
  EXPECT_FALSE(second.blocks().done(1));
  Fetch(second, 1);
  EXPECT_FALSE(fs::exists(Final()));
  EXPECT_TRUE(*second.Finish());
  EXPECT_EQ(*FileDigest(Final(), Digest::Kind::kSha256), file_.digest);
  EXPECT_FALSE(fs::exists(Final().string() + ".blocks"));
}

TEST_F(PartialFileTest, WrongContentIsThrownAwayAndBegunAnew) {
  PartialFile partial = Open();
  for (int block = 0; block < 3; ++block) Fetch(partial, block, block == 1 ? 1 : 0);
  EXPECT_FALSE(*partial.Finish());
  EXPECT_FALSE(fs::exists(Final()));
  EXPECT_FALSE(fs::exists(Final().string() + ".part"));
  ASSERT_TRUE(partial.Begin().ok());
  EXPECT_EQ(partial.blocks().done_bytes(), 0);
  for (int block = 0; block < 3; ++block) Fetch(partial, block);
  EXPECT_TRUE(*partial.Finish());
}

TEST_F(PartialFileTest, AJournalWithoutItsFileCountsForNothing) {
  {
    PartialFile partial = Open();
    Fetch(partial, 0);
  }
  fs::resize_file(Final().string() + ".part", 100);
  EXPECT_EQ(Open().blocks().done_bytes(), 0);
}

}  // namespace
}  // namespace tonnage::hub
