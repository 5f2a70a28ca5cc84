#include "models/architectures.h"

#include <algorithm>
#include <array>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

constexpr Architecture kArchitectures[] = {
    {"llama", BuildLlama}, {"mistral", BuildMistral},    {"qwen2", BuildQwen2},
    {"qwen3", BuildQwen3}, {"qwen3_moe", BuildQwen3Moe}, {"smollm3", BuildSmolLm3},
};

// The part of a config that describes the text model: all of it, or what a model with other senses
// nests in `text_config`. Whether embeddings are tied may be said outside only.
Json TextConfig(const Json& config, std::string_view model_type) {
  const Json* nested = JsonFind(config, "text_config");
  if (FindArchitecture(model_type) != nullptr || nested == nullptr || !nested->is_object()) {
    return config;
  }
  Json text = *nested;
  const Json* tied = JsonFind(config, "tie_word_embeddings");
  if (tied != nullptr && JsonFind(text, "tie_word_embeddings") == nullptr) {
    text["tie_word_embeddings"] = *tied;
  }
  return text;
}

}  // namespace

const Architecture* FindArchitecture(std::string_view model_type) {
  const auto it = std::ranges::find(kArchitectures, model_type, &Architecture::model_type);
  return it == std::end(kArchitectures) ? nullptr : &*it;
}

std::span<const std::string_view> SupportedArchitectures() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, std::size(kArchitectures)> names;
    std::ranges::transform(kArchitectures, names.begin(), &Architecture::model_type);
    return names;
  }();
  return kNames;
}

Result<Model> BuildModel(const Json& config) {
  if (!config.is_object()) return Unreadable("config.json must be an object");
  ASSIGN_OR_RETURN(std::string model_type, JsonString(config, "model_type", ""));
  const Json text = TextConfig(config, model_type);
  ASSIGN_OR_RETURN(model_type, JsonString(text, "model_type", model_type));
  if (model_type.empty()) return Unreadable("config.json: `model_type` is missing");
  const Architecture* architecture = FindArchitecture(model_type);
  if (architecture == nullptr) {
    return Unsupported("model type {} is not supported; {} are", Quoted(model_type),
                       fmt::join(SupportedArchitectures(), ", "));
  }
  Result<Model> model = architecture->build(text);
  if (!model.ok()) return model.error().In("config.json");
  return model;
}

}  // namespace tonnage
