// A model as the rest of the engine sees it: facts for people, the cache layout, and the graph with
// its tensor table. Made from config alone; every architecture is one file with a Build function
// and one row in architectures.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "graph/cache_layout.h"
#include "graph/graph.h"

namespace tonnage {

struct ModelInfo {
  std::string architecture;  // config.json's model_type
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t context_limit = 0;  // tokens, as trained
};

struct Model {
  ModelInfo info;
  CacheLayout cache;
  Graph graph;
};

// Builds the model that `config` (a config.json in Hugging Face's terms) describes. Unsupported,
// naming the model_type or the field, for what we do not have.
Result<Model> BuildModel(const Json& config);

// The model_types that BuildModel knows, for messages and documentation.
std::span<const std::string_view> SupportedArchitectures();

}  // namespace tonnage
