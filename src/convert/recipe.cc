#include "convert/recipe.h"

#include <charconv>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

constexpr std::pair<std::string_view, Recipe> kRecipes[] = {{"uniform", Recipe::kUniform},
                                                            {"mixed_3_4", Recipe::kMixed3_4},
                                                            {"mixed_3_6", Recipe::kMixed3_6},
                                                            {"mixed_4_6", Recipe::kMixed4_6},
                                                            {"mixed", Recipe::kMixed}};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number in `model.layers.3.mlp.up_proj`; 0 outside layers.
std::int64_t LayerOf(std::string_view module) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = module.find(kLayers);
  std::int64_t layer = 0;
  if (at == std::string_view::npos) return layer;
  const std::string_view number = module.substr(at + kLayers.size());
  std::from_chars(number.data(), number.data() + number.size(), layer);
  return layer;
}

// The first and the last eighth of the layers, and every third between them.
bool Matters(std::int64_t layer, std::int64_t layers) {
  const std::int64_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

std::int64_t MixedBits(std::int64_t low, std::int64_t high, std::string_view module,
                       std::int64_t layers) {
  if (Contains(module, "lm_head")) return high;
  const bool candidate = Contains(module, "v_proj") || Contains(module, "v_a_proj") ||
                         Contains(module, "v_b_proj") || Contains(module, "down_proj");
  return candidate && Matters(LayerOf(module), layers) ? high : low;
}

}  // namespace

Result<Recipe> ParseRecipe(std::string_view word) {
  std::string known;
  for (const auto& [name, recipe] : kRecipes) {
    if (name == word) return recipe;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return InvalidArgument("--mixed {}: use one of {}", Quoted(word), known);
}

QuantRule RuleOf(Recipe recipe, const QuantRule& base, std::string_view module,
                 std::int64_t layers) {
  QuantRule rule = base;
  switch (recipe) {
    case Recipe::kUniform:
      // A router's errors choose other experts.
      if (module.ends_with("mlp.gate") || module.ends_with(".router")) return {"affine", 8, 64};
      return rule;
    case Recipe::kMixed3_4:
      rule.bits = MixedBits(3, 4, module, layers);
      return rule;
    case Recipe::kMixed3_6:
      rule.bits = MixedBits(3, 6, module, layers);
      return rule;
    case Recipe::kMixed4_6:
      rule.bits = MixedBits(4, 6, module, layers);
      return rule;
    case Recipe::kMixed:
      rule.bits = Contains(module, ".mlp.") ? 4 : 8;
      return rule;
  }
  return rule;
}

}  // namespace tonnage
