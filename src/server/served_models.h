// The directory of a server with one model, under one name or several. Immutable; safe from any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "service/models.h"

namespace tonnage {

class OneModel final : public ModelDirectory {
 public:
  // At least one name; the first is the one that List's readers should use.
  OneModel(std::vector<std::string> names, std::int64_t loaded_at_s,
           std::shared_ptr<const TextEngine> engine)
      : names_(std::move(names)), loaded_at_s_(loaded_at_s), engine_(std::move(engine)) {}

  std::vector<ModelCard> List() const override;
  Result<std::shared_ptr<const TextEngine>> Find(std::string_view name) const override;

 private:
  const std::vector<std::string> names_;
  const std::int64_t loaded_at_s_;
  const std::shared_ptr<const TextEngine> engine_;
};

}  // namespace tonnage
