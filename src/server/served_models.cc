#include "server/served_models.h"

#include <algorithm>
#include <utility>

namespace tonnage {

std::vector<ModelCard> ServedModels::List() const {
  std::vector<ModelCard> cards;
  for (const ServedModel& model : models_) {
    const TokenEngine& engine = model.engine->engine();
    for (const std::string& name : model.names) {
      cards.push_back({.name = name,
                       .architecture = engine.info().architecture,
                       .created_s = model.created_s,
                       .context_tokens = engine.cache().context_tokens,
                       .slots = engine.cache().slots,
                       .chats = model.engine->has_template()});
    }
  }
  return cards;
}

Result<const ServedModel*> ServedModels::Lookup(std::string_view name) const {
  std::string names;
  for (const ServedModel& model : models_) {
    if (std::ranges::find(model.names, name) != model.names.end()) return &model;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", fmt::join(model.names, "`, `"));
  }
  return Unreadable("there is no model `{}` here, but {}", name.substr(0, 100), names)
      .About("model");
}

Result<std::shared_ptr<const TextEngine>> ServedModels::Find(std::string_view name) const {
  ASSIGN_OR_RETURN(const ServedModel* model, Lookup(name));
  return model->engine;
}

void ServedModels::Load(std::string_view name, std::function<void(Result<ModelUse>)> done) const {
  const auto found = Lookup(name);
  if (!found.ok()) return done(found.error());
  const ServedModel& model = **found;
  model.load([&model, done = std::move(done)](Result<std::shared_ptr<const void>> use) {
    if (!use.ok()) return done(use.error());
    // The use is what this pointer owns: when the last copy goes, the model may be unloaded.
    done(ModelUse{std::shared_ptr<const TextEngine>(std::move(*use), model.engine.get()),
                  model.dispatcher});
  });
}

}  // namespace tonnage
