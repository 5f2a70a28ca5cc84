#include "checkpoint/split_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::GgufParts;
using testing::GgufTensorInfo;
using ::testing::HasSubstr;
using testing::Raw;
using testing::TemporaryFolder;

constexpr std::uint32_t kF32 = 0;

// Part `index` of three, with the one tensor `w<index>` of [2]; the first has the metadata.
GgufParts Part(std::uint16_t index) {
  GgufParts part;
  if (index == 0) part.Add("general.name", GgufType::kString, testing::GgufString("three"));
  part.Add("split.no", GgufType::kU16, Raw(index));
  part.Add("split.count", GgufType::kU16, Raw<std::uint16_t>(3));
  part.Add("split.tensors.count", GgufType::kI32, Raw<std::int32_t>(3));
  part.tensors = {GgufTensorInfo("w" + std::to_string(index), {2}, kF32, 0)};
  part.data = Raw<float>(index) + Raw<float>(10.f + index);
  return part;
}

class SplitModel {
 public:
  SplitModel() {
    for (std::uint16_t i = 0; i < 3; ++i) parts[i] = Part(i);
  }
  std::string Name(int part) const {
    return folder.path() + "/m-0000" + std::to_string(part + 1) + "-of-00003.gguf";
  }
  void Write() const {
    for (int i = 0; i < 3; ++i)
      folder.Write(Name(i).substr(folder.path().size() + 1), parts[i].Build());
  }
  // What is said when the part is opened.
  std::string Refusal(int part) const {
    const auto opened = Checkpoint::Open(Name(part));
    return opened.ok() ? "" : opened.error().message();
  }

  TemporaryFolder folder;
  GgufParts parts[3];
};

TEST(SplitGguf, OpensFromAnyPart) {
  SplitModel model;
  model.Write();
  for (int part = 0; part < 3; ++part) {
    const auto checkpoint = Checkpoint::Open(model.Name(part));
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    EXPECT_EQ(checkpoint->gguf()->Require<std::string_view>("general.name").value(), "three");
    ASSERT_EQ(checkpoint->weights().size(), 3u);
    EXPECT_EQ(checkpoint->total_bytes(), 3 * 8);
    for (int i = 0; i < 3; ++i) {
      const WeightInfo* weight = checkpoint->Find("w" + std::to_string(i));
      ASSERT_NE(weight, nullptr);
      float second;
      std::memcpy(&second, weight->data.data() + 4, sizeof second);
      EXPECT_EQ(second, 10.f + static_cast<float>(i));
    }
  }
}

TEST(SplitGguf, NamesWhatIsMissing) {
  SplitModel model;
  model.Write();
  std::filesystem::remove(model.Name(1));
  EXPECT_THAT(model.Refusal(0), HasSubstr("`m-00002-of-00003.gguf` is missing beside it"));
  std::filesystem::remove(model.Name(0));
  EXPECT_THAT(model.Refusal(2),
              HasSubstr("`m-00001-of-00003.gguf`, `m-00002-of-00003.gguf` are missing beside it"));
}

TEST(SplitGguf, RefusesAPartUnderAnotherName) {
  SplitModel model;
  const std::string path = model.folder.Write("other.gguf", Part(1).Build());
  const auto opened = Checkpoint::Open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message(), HasSubstr("must be named so: NAME-00002-of-00003.gguf"));
}

TEST(SplitGguf, RefusesPartsThatAreNotOfOneModel) {
  {
    SplitModel model;
    model.parts[1] = Part(2);
    model.Write();
    EXPECT_THAT(model.Refusal(0), HasSubstr("not part 2 of 3"));
  }
  {
    SplitModel model;
    model.parts[2].tensors = {GgufTensorInfo("w0", {2}, kF32, 0)};
    model.Write();
    EXPECT_THAT(model.Refusal(0), HasSubstr("tensor `w0` is in two of the parts"));
  }
  {
    SplitModel model;
    model.parts[2].tensors.clear();
    model.parts[2].data.clear();
    model.Write();
    EXPECT_THAT(model.Refusal(0), HasSubstr("tells of 3 tensors, but its 3 parts have 2"));
  }
  {
    SplitModel model;
    model.parts[0].entries[1] = testing::GgufString("split.no") +
                                testing::GgufTypeId(GgufType::kU16) + Raw<std::uint16_t>(7);
    model.Write();
    EXPECT_THAT(model.Refusal(0), HasSubstr("`split.no` is 7, but there are 3 parts"));
  }
  {
    SplitModel model;
    model.Write();
    model.folder.Write("m-00002-of-00003.gguf", "GGUF");
    EXPECT_THAT(model.Refusal(0), HasSubstr("m-00002-of-00003.gguf"));
  }
}

}  // namespace
}  // namespace tonnage
