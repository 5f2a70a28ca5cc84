// The models that a server offers, as protocols see them. Every method is safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/dispatcher.h"
#include "service/generate.h"

namespace tonnage {

struct ModelCard {
  std::string name;
  std::string architecture;
  std::int64_t created_s = 0;  // since 1970: when it came to be offered
  std::int64_t context_tokens = 0;
  std::int64_t slots = 0;
  bool chats = false;  // it has a chat template
};

// A model that is loaded, and stays so while the engine is held.
struct ModelUse {
  std::shared_ptr<const TextEngine> engine;
  Dispatcher* dispatcher = nullptr;  // outlives the directory's users
};

class ModelDirectory {
 public:
  virtual ~ModelDirectory() = default;
  virtual std::vector<ModelCard> List() const = 0;
  // For what needs no weights: it may not be loaded. Unreadable, about the field `model` and with
  // the names that there are, for one that is not offered.
  virtual Result<std::shared_ptr<const TextEngine>> Find(std::string_view name) const = 0;
  // For answers. Calls `done` once: at once where the model is loaded, not offered, or cannot be
  // loaded for now; else when its load has ended, on another thread.
  virtual void Load(std::string_view name, std::function<void(Result<ModelUse>)> done) const = 0;
};

}  // namespace tonnage
