#include "cli/reference_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/testing.h"

namespace tonnage::cli {
namespace {

using ::testing::HasSubstr;

const WindowedText kText = {.ids = {7, 5, 9}, .window = 2, .vocab = 4};

class ReferenceFileTest : public ::testing::Test {
 protected:
  ReferenceFileTest() : path_(folder_.path() + "/reference") {
    auto writer = ReferenceWriter::Create(path_, kText);
    writer->Add(std::vector<float>{0, 1, 2, 3, 10, 11, 12, 13}).value();
    writer->Add(std::vector<float>{20, 21, 22, 23}).value();
    writer->Finish().value();
  }
  std::string Refusal(const WindowedText& text) const {
    const auto reader = ReferenceReader::Open(path_, text);
    if (reader.ok()) return "";
    EXPECT_EQ(reader.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(reader.error().message(), HasSubstr(path_));
    return reader.error().message();
  }

  const testing::TemporaryFolder folder_;
  const std::string path_;
};

TEST_F(ReferenceFileTest, GivesEveryRowBack) {
  const auto reader = ReferenceReader::Open(path_, kText);
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  std::vector<float> row(4);
  for (const int index : {2, 0, 1}) {
    reader->Read(index, row);
    for (size_t i = 0; i < row.size(); ++i)
      EXPECT_EQ(row[i], static_cast<float>(10 * index) + static_cast<float>(i));
  }
}

TEST_F(ReferenceFileTest, IsAsLargeAsSaidButForItsHeader) {
  EXPECT_EQ(ReferenceBytes(kText), 3 * 4 + 3 * 4 * 4);
  const auto bytes = static_cast<Bytes>(std::filesystem::file_size(path_));
  EXPECT_GT(bytes, ReferenceBytes(kText));
  EXPECT_LT(bytes, ReferenceBytes(kText) + 1024);
}

TEST_F(ReferenceFileTest, AnotherTextIsRefusedWithWhatDiffers) {
  WindowedText other = kText;
  other.vocab = 5;
  EXPECT_THAT(Refusal(other), HasSubstr("a vocabulary of 4 tokens, this model's has 5"));
  other = kText;
  other.ids[1] = 6;
  EXPECT_THAT(Refusal(other), HasSubstr("token 1 is the first to differ"));
  other = kText;
  other.ids.push_back(1);
  EXPECT_THAT(Refusal(other), HasSubstr("it has 3 and this text 4, and token 3 is the first"));
  other = kText;
  other.window = 3;
  EXPECT_THAT(Refusal(other), HasSubstr("windows of 2 tokens, this run of 3"));
}

TEST_F(ReferenceFileTest, AnotherFileIsRefused) {
  folder_.Write("reference", "no safetensors");
  EXPECT_FALSE(ReferenceReader::Open(path_, kText).ok());
  EXPECT_FALSE(ReferenceReader::Open(folder_.path() + "/none", kText).ok());
  const std::string data(4, '\0');
  const SafetensorsTensor only[] = {testing::MakeTensor("ids", "I32", {1}, data)};
  WriteSafetensors(path_, only).value();
  EXPECT_THAT(Refusal(kText), HasSubstr("no F32 log_probs of 2 extents"));
}

// An unfinished file would be taken for a whole one.
TEST_F(ReferenceFileTest, TooFewOrTooManyRowsAreTold) {
  auto writer = ReferenceWriter::Create(path_, kText);
  writer->Add(std::vector<float>(8)).value();
  EXPECT_FALSE(writer->Finish().ok());
  EXPECT_FALSE(writer->Add(std::vector<float>(8)).ok());
}

}  // namespace
}  // namespace tonnage::cli
