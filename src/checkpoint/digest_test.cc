#include "checkpoint/digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing.h"

namespace tonnage {
namespace {

TEST(Digest, KnownAnswers) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = std::filesystem::path(folder.path()) / "file";
  std::ofstream(path) << "abc";  // FIPS 180-4's first example
  EXPECT_EQ(*FileSha256(path), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::ofstream(path) << std::string(1000000, 'a');  // and its third
  EXPECT_EQ(*FileSha256(path), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::ofstream(path) << "hello world\n";  // what `git hash-object` says of it
  const auto blob = FileDigest(path, Digest::Kind::kGitSha1);
  EXPECT_EQ(blob->hex, "3b18e512dba79e4c8300dd08aeb37f8e728b8dad");
  std::filesystem::remove(path);
  EXPECT_EQ(FileSha256(path).error().code(), Code::kUnreadable);
}

}  // namespace
}  // namespace tonnage
