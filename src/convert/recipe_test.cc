#include "convert/recipe.h"

#include <gtest/gtest.h>

#include <string>

namespace tonnage {
namespace {

const QuantRule kBase{.mode = "affine", .bits = 4, .group = 32};

std::int64_t Bits(Recipe recipe, std::string_view module, std::int64_t layers = 16) {
  return RuleOf(recipe, kBase, module, layers).bits;
}

TEST(Recipe, NamesAreMlxLmsAndPlamos) {
  for (const char* name : {"uniform", "mixed_3_4", "mixed_3_6", "mixed_4_6", "mixed"})
    EXPECT_TRUE(ParseRecipe(name).ok());
  const auto unknown = ParseRecipe("mixed_9_9");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message().find("uniform, mixed_3_4"), std::string::npos);
}

TEST(Recipe, UniformKeepsRoutersInEightBits) {
  EXPECT_EQ(RuleOf(Recipe::kUniform, kBase, "model.layers.0.mlp.up_proj", 16), kBase);
  EXPECT_EQ(RuleOf(Recipe::kUniform, kBase, "model.layers.0.mlp.gate_proj", 16), kBase);
  EXPECT_EQ(RuleOf(Recipe::kUniform, {"mxfp4", 4, 32}, "model.layers.0.mlp.gate", 16),
            (QuantRule{"affine", 8, 64}));
}

TEST(Recipe, MixedGivesMoreBitsToTheLayersThatMatter) {
  // Of 16 layers: 0 and 1, 14 and 15, and 4, 7, 10, 13.
  std::string higher;
  for (int layer = 0; layer < 16; ++layer) {
    const std::string module = "model.layers." + std::to_string(layer);
    EXPECT_EQ(Bits(Recipe::kMixed3_6, module + ".mlp.up_proj"), 3);
    EXPECT_EQ(Bits(Recipe::kMixed3_6, module + ".self_attn.v_proj"),
              Bits(Recipe::kMixed3_6, module + ".mlp.switch_mlp.down_proj"));
    if (Bits(Recipe::kMixed3_6, module + ".mlp.down_proj") == 6)
      higher += std::to_string(layer) + " ";
  }
  EXPECT_EQ(higher, "0 1 4 7 10 13 14 15 ");
  EXPECT_EQ(Bits(Recipe::kMixed3_4, "lm_head"), 4);
  EXPECT_EQ(Bits(Recipe::kMixed4_6, "lm_head"), 6);
  EXPECT_EQ(Bits(Recipe::kMixed4_6, "model.embed_tokens"), 4);
  EXPECT_EQ(Bits(Recipe::kMixed4_6, "model.layers.0.self_attn.q_proj"), 4);
  EXPECT_EQ(RuleOf(Recipe::kMixed3_4, kBase, "lm_head", 16).group, 32);
}

TEST(Recipe, PlamosMixedIsByKindOfModule) {
  EXPECT_EQ(Bits(Recipe::kMixed, "model.layers.layers.3.mlp.down_proj"), 4);
  EXPECT_EQ(Bits(Recipe::kMixed, "model.layers.layers.3.mixer.qkv_proj"), 8);
  EXPECT_EQ(Bits(Recipe::kMixed, "model.layers.3.self_attn.q_proj"), 8);
  EXPECT_EQ(Bits(Recipe::kMixed, "model.embed_tokens"), 8);
}

}  // namespace
}  // namespace tonnage
