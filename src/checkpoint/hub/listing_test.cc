#include "checkpoint/hub/listing.h"

#include <gtest/gtest.h>

namespace tonnage::hub {
namespace {

const std::string kCommit(40, 'a');
const std::string kSha256(64, 'b');
const std::string kBlob(40, 'c');

std::string Answer(const std::string& siblings) {
  return R"({"id":"a/b","sha":")" + kCommit + R"(","siblings":[)" + siblings + "]}";
}

TEST(ListingTest, FilesWithSizesAndDigests) {
  const auto listing = ParseListing(Answer(
      R"({"rfilename":"w.safetensors","size":9,"blobId":")" + kBlob + R"(","lfs":{"sha256":")" +
      kSha256 + R"(","size":9,"pointerSize":1}},{"rfilename":"config.json","size":2,"blobId":")" +
      kBlob + "\"}"));
  ASSERT_TRUE(listing.ok()) << listing.error().message();
  EXPECT_EQ(listing->commit, kCommit);
  ASSERT_EQ(listing->files.size(), 2u);
  EXPECT_EQ(listing->files[0].path, "config.json");
  EXPECT_EQ(listing->files[0].digest, (Digest{Digest::Kind::kGitSha1, kBlob}));
  EXPECT_EQ(listing->files[1].bytes, 9);
  EXPECT_EQ(listing->files[1].digest, (Digest{Digest::Kind::kSha256, kSha256}));
}

TEST(ListingTest, WhatCannotBeIsRefused) {
  const std::string good = R"({"rfilename":"x","size":1,"blobId":")" + kBlob + "\"}";
  ASSERT_TRUE(ParseListing(Answer(good)).ok());
  for (const std::string& siblings : {
           good + "," + good,
           std::string("{}"),
           std::string("3"),
           std::string(R"({"rfilename":"x"})"),
           R"({"rfilename":"x","size":-1,"blobId":")" + kBlob + "\"}",
           R"({"rfilename":"x","size":99999999999999999,"blobId":")" + kBlob + "\"}",
           R"({"rfilename":"x","size":1.5,"blobId":")" + kBlob + "\"}",
           R"({"rfilename":"x","size":1,"blobId":"../)" + kBlob.substr(3) + "\"}",
           R"({"rfilename":"x","size":1,"blobId":")" + kBlob + R"(","lfs":{}})",
       }) {
    const auto listing = ParseListing(Answer(siblings));
    ASSERT_FALSE(listing.ok()) << siblings;
    EXPECT_EQ(listing.error().code(), Code::kUnreadable);
  }
  for (const char* answer : {"", "[]", "{}", "null", R"({"sha":"main","siblings":[]})"})
    EXPECT_FALSE(ParseListing(answer).ok()) << answer;
}

}  // namespace
}  // namespace tonnage::hub
