#include "server/served_models.h"

#include <algorithm>

namespace tonnage {

std::vector<ModelCard> OneModel::List() const {
  std::vector<ModelCard> cards;
  for (const std::string& name : names_) {
    cards.push_back({.name = name,
                     .architecture = engine_->engine().info().architecture,
                     .created_s = loaded_at_s_,
                     .context_tokens = engine_->engine().cache().context_tokens,
                     .slots = engine_->engine().cache().slots,
                     .chats = engine_->has_template()});
  }
  return cards;
}

Result<std::shared_ptr<const TextEngine>> OneModel::Find(std::string_view name) const {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return engine_;
  return Unreadable("there is no model `{}` here, but `{}`", name.substr(0, 100),
                    fmt::join(names_, "`, `"));
}

}  // namespace tonnage
