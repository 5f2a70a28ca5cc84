#include "models/open.h"

#include <utility>

#include "models/gguf.h"

namespace tonnage {
namespace {

Result<Json> ConfigOf(const Checkpoint& checkpoint) {
  if (checkpoint.gguf() != nullptr) return ConfigFromGguf(checkpoint);
  if (checkpoint.config().is_null()) return Unreadable("no config.json stands beside it");
  return checkpoint.config();
}

}  // namespace

std::vector<Format> OpenedModel::Formats() const {
  std::vector<Format> formats;
  for (const WeightSource& source : sources) formats.push_back(source.format);
  return formats;
}

Result<OpenedModel> OpenModel(const std::string& path) {
  ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(path));
  Result<Json> config = ConfigOf(checkpoint);
  if (!config.ok()) return config.error().In(path);
  Result<Model> model = BuildModel(*config);
  if (!model.ok()) return model.error().In(path);
  ASSIGN_OR_RETURN(std::vector<WeightSource> sources, ResolveWeights(model->graph, checkpoint));
  return OpenedModel{std::move(checkpoint), *std::move(config), *std::move(model),
                     std::move(sources)};
}

}  // namespace tonnage
