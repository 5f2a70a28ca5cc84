// The models of a server, each under one name or several. Immutable; safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "service/models.h"

namespace tonnage {

struct ServedModel {
  // Calls back once, with what keeps the model loaded while it is held.
  using Load = std::function<void(std::function<void(Result<std::shared_ptr<const void>>)>)>;

  std::vector<std::string> names;  // at least one; the first is the one that readers should use
  std::int64_t created_s = 0;
  std::shared_ptr<const TextEngine> engine;
  Dispatcher* dispatcher = nullptr;
  Load load = {};
};

class ServedModels final : public ModelDirectory {
 public:
  // At least one.
  explicit ServedModels(std::vector<ServedModel> models) : models_(std::move(models)) {}

  std::vector<ModelCard> List() const override;
  Result<std::shared_ptr<const TextEngine>> Find(std::string_view name) const override;
  void Load(std::string_view name, std::function<void(Result<ModelUse>)> done) const override;

 private:
  Result<const ServedModel*> Lookup(std::string_view name) const;

  const std::vector<ServedModel> models_;
};

}  // namespace tonnage
