#include "tokenizer/decode_stage.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

using Texts = std::vector<std::string>;

// What comes out after each token, and at last at the end.
Texts Stream(DecodeStage& stage, const Texts& tokens) {
  Texts steps;
  std::vector<DecodeChunk> out;
  const auto take = [&] {
    std::string text;
    for (const DecodeChunk& chunk : out) text += chunk.text;
    out.clear();
    steps.push_back(text);
  };
  for (const std::string& token : tokens) {
    EXPECT_TRUE(stage.Push({token}, out).ok());
    take();
  }
  EXPECT_TRUE(stage.Finish(out).ok());
  take();
  return steps;
}

std::unique_ptr<DecodeStage> Chain(std::unique_ptr<DecodeStage> a, std::unique_ptr<DecodeStage> b,
                                   std::unique_ptr<DecodeStage> c) {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  stages.push_back(std::move(a));
  stages.push_back(std::move(b));
  stages.push_back(std::move(c));
  return MakeSequenceStage(std::move(stages));
}

TEST(DecodeStage, ByteLevelHoldsBackUntilACharacterIsWhole) {
  // U+1F600 in three tokens, then a byte that nothing completes.
  EXPECT_EQ(
      Stream(*MakeByteLevelStage(), {"a\u0120", "\u00f0\u0141", "\u013a", "\u0122", "\u00e3"}),
      (Texts{"a ", "", "", "\U0001f600", "", "\ufffd"}));
}

TEST(DecodeStage, ByteLevelReplacesAMaximalPartAsSoonAsItIsKnown) {
  EXPECT_EQ(Stream(*MakeByteLevelStage(), {"\u00e3\u0123", "b"}), (Texts{"", "\ufffdb", ""}));
}

TEST(DecodeStage, ByteFallbackRunIsAllTextOrAllReplacements) {
  EXPECT_EQ(Stream(*MakeByteFallbackStage(), {"<0xC3>", "<0xA9>", "x"}),
            (Texts{"", "", "\u00e9x", ""}));
  EXPECT_EQ(Stream(*MakeByteFallbackStage(), {"<0x41>", "<0xC3>", "x", "<0x42>"}),
            (Texts{"", "", "\ufffd\ufffdx", "", "B"}));
}

TEST(DecodeStage, StripAfterFuseLooksAtTheWholeText) {
  auto stage = Chain(MakeByteFallbackStage(), MakeFuseStage(), MakeStripStage(" ", 2, 1));
  EXPECT_EQ(Stream(*stage, {" ", " ", " a ", " ", "b", " ", " "}),
            (Texts{"", "", " a", " ", " b", "", " ", ""}));
}

TEST(DecodeStage, StripWithoutFuseLooksAtEachToken) {
  EXPECT_EQ(Stream(*MakeStripStage("_", 1, 1), {"__a_", "_", "b"}), (Texts{"_a", "", "b", ""}));
}

TEST(DecodeStage, FirstTokenIsSpecial) {
  EXPECT_EQ(Stream(*MakeMetaspaceStage("_", true), {"_a", "_b_"}), (Texts{"a", " b ", ""}));
  EXPECT_EQ(Stream(*MakeMetaspaceStage("_", false), {"_a", "_b"}), (Texts{" a", " b", ""}));
  EXPECT_EQ(Stream(*MakeWordPieceStage("##", true), {"do", "not", "##e", "."}),
            (Texts{"do", " not", "e", ".", ""}));
  EXPECT_EQ(Stream(*MakeSpacesStage(), {"a", "b"}), (Texts{"a", " b", ""}));
}

TEST(DecodeStage, LastTokenIsSpecial) {
  EXPECT_EQ(Stream(*MakeBpeStage("</w>"), {"a</w>", "b</w>"}), (Texts{"", "a ", "b"}));
}

TEST(DecodeStage, CtcDropsRepeatsAndPads) {
  EXPECT_EQ(Stream(*MakeCtcStage("<p>", "|", true), {"a", "a", "<p>", "a", "|", "b"}),
            (Texts{"a", "", "", "a", " ", "b", ""}));
}

TEST(DecodeStage, RunStageKeepsTheTokensApart) {
  Texts tokens = {"<0x41>", "b", "c"};
  ASSERT_TRUE(RunStage(*MakeByteFallbackStage(), tokens).ok());
  EXPECT_EQ(tokens, (Texts{"A", "b", "c"}));
  ASSERT_TRUE(RunStage(*MakeFuseStage(), tokens).ok());
  EXPECT_EQ(tokens, (Texts{"Abc"}));
}

}  // namespace
}  // namespace tonnage
