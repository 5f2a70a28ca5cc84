// What the writers write, read back.
#include <gtest/gtest.h>

#include <string>

#include "checkpoint/gguf_writer.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::AsBytes;
using testing::MakeTensor;

std::string Text(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(SafetensorsWriter, PiecesInAnyOrderReadBack) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/model.safetensors";
  const SafetensorsTensor tensors[] = {MakeTensor("a", "U8", {2, 3}, ""),
                                       MakeTensor("b", "F16", {2}, "")};
  const std::pair<std::string, std::string> metadata[] = {{"format", "mlx"}};
  auto writer = SafetensorsWriter::Create(path, tensors, metadata);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  EXPECT_TRUE(writer->Write(1, 0, AsBytes("wxyz")).ok());
  EXPECT_TRUE(writer->Write(0, 3, AsBytes("def")).ok());
  EXPECT_FALSE(writer->Finish().ok()) << "three bytes are missing";
  EXPECT_FALSE(writer->Write(0, 4, AsBytes("abc")).ok()) << "reaches into the next tensor";
  EXPECT_TRUE(writer->Write(0, 0, AsBytes("abc")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto file = MappedFile::Open(path);
  const auto parsed = ParseSafetensors(file->bytes());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(Text(parsed->Find("a")->data), "abcdef");
  EXPECT_EQ(Text(parsed->Find("b")->data), "wxyz");
  EXPECT_EQ(parsed->metadata.at(0).second, "mlx");
}

TEST(GgufWriter, MetadataAndTensorsReadBack) {
  const testing::TemporaryFolder folder;
  testing::GgufParts parts;
  parts.Add("flag", GgufType::kBool, testing::Raw<std::uint8_t>(1));
  parts.AddArray("names", GgufType::kString, 2,
                 testing::GgufString("x") + testing::GgufString("yz"));
  const std::string source_bytes = parts.Build();
  const auto source = Gguf::Parse(AsBytes(source_bytes));
  ASSERT_TRUE(source.ok()) << source.error().message();

  GgufWriter writer;
  for (const GgufEntry& entry : source->metadata()) writer.Add(entry);
  writer.AddString("general.name", "test");
  writer.AddU32("general.file_type", 2);
  const size_t a = writer.AddTensor("a", {3}, *FindGgmlType(24));     // I8
  const size_t b = writer.AddTensor("b", {2, 32}, *FindGgmlType(2));  // Q4_0
  const std::string path = folder.path() + "/model.gguf";
  ASSERT_TRUE(writer.Create(path).ok());
  ASSERT_TRUE(writer.Write(b, 18, AsBytes(std::string(18, '2'))).ok());
  ASSERT_TRUE(writer.Write(b, 0, AsBytes(std::string(18, '1'))).ok());
  EXPECT_FALSE(writer.Finish().ok());
  EXPECT_FALSE(writer.Write(a, 1, AsBytes("abc")).ok());
  ASSERT_TRUE(writer.Write(a, 0, AsBytes("abc")).ok());
  ASSERT_TRUE(writer.Finish().ok());

  const auto file = MappedFile::Open(path);
  EXPECT_EQ(static_cast<Bytes>(file->bytes().size()), writer.FileBytes());
  const auto parsed = Gguf::Parse(file->bytes());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_TRUE(parsed->Require<bool>("flag").value());
  EXPECT_EQ(parsed->Require<std::vector<std::string_view>>("names").value(),
            (std::vector<std::string_view>{"x", "yz"}));
  EXPECT_EQ(parsed->Require<std::string_view>("general.name").value(), "test");
  EXPECT_EQ(parsed->Require<std::int64_t>("general.file_type").value(), 2);
  ASSERT_EQ(parsed->tensors().size(), 2u);
  EXPECT_EQ(Text(parsed->tensors()[0].data), "abc");
  EXPECT_EQ(parsed->tensors()[1].shape, (Shape{2, 32}));
  EXPECT_EQ(Text(parsed->tensors()[1].data), std::string(18, '1') + std::string(18, '2'));
}

}  // namespace
}  // namespace tonnage
