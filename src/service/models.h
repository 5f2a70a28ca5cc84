// The models that a server offers, as protocols see them. Every method is safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/generate.h"

namespace tonnage {

struct ModelCard {
  std::string name;
  std::string architecture;
  std::int64_t created_s = 0;  // since 1970: when it was loaded
  std::int64_t context_tokens = 0;
  std::int64_t slots = 0;
  bool chats = false;  // it has a chat template
};

class ModelDirectory {
 public:
  virtual ~ModelDirectory() = default;
  virtual std::vector<ModelCard> List() const = 0;
  // Unreadable, with the names that there are, for one that is not offered.
  virtual Result<std::shared_ptr<const TextEngine>> Find(std::string_view name) const = 0;
};

}  // namespace tonnage
