#include "checkpoint/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <utility>

#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::TemporaryFolder;

TEST(MappedFile, GivesTheBytesAndKeepsTheirAddressWhenMoved) {
  TemporaryFolder folder;
  auto file = MappedFile::Open(folder.Write("a", "hello"));
  ASSERT_TRUE(file.ok());
  const std::uint8_t* address = file->bytes().data();
  MappedFile moved = *std::move(file);
  EXPECT_EQ(moved.bytes().data(), address);
  EXPECT_EQ(std::string(moved.bytes().begin(), moved.bytes().end()), "hello");
  auto other = MappedFile::Open(folder.Write("b", "there"));
  moved = *std::move(other);
  EXPECT_EQ(std::string(moved.bytes().begin(), moved.bytes().end()), "there");
}

TEST(MappedFile, ReleasedPagesReadTheSameAgain) {
  TemporaryFolder folder;
  std::string content(100'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31);
  auto file = MappedFile::Open(folder.Write("a", content));
  ASSERT_TRUE(file.ok());
  for (const auto range : {file->bytes(), file->bytes().subspan(5, 20'001),
                           file->bytes().subspan(4096, 1), file->bytes().subspan(0, 0)}) {
    PrefetchPages(range);
    ReleasePages(range);
    EXPECT_EQ(std::string(file->bytes().begin(), file->bytes().end()), content);
  }
}

TEST(MappedFile, EmptyFilesAreEmpty) {
  TemporaryFolder folder;
  auto file = MappedFile::Open(folder.Write("empty", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFileAtOnce) {
  TemporaryFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder.path() + "/absent", folder.path(), pipe}) {
    auto file = MappedFile::Open(path);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code(), Code::kUnreadable);
    EXPECT_NE(file.error().message().find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace tonnage
