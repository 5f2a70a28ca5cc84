// Jinja's filters by name. `needs_context` tells those that Jinja never folds into constants.
#pragma once

#include <span>
#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

using FilterPointer = Value (*)(Renderer&, const Value& input, const Arguments&);

struct Filter {
  std::string_view name;
  FilterPointer call;
  bool needs_context = false;
};

// nullptr when there is none of the name.
const Filter* FindFilter(std::string_view name);

// The filters of each source file.
std::span<const Filter> TextFilters();
std::span<const Filter> SequenceFilters();
std::span<const Filter> OrderFilters();
std::span<const Filter> ApplyingFilters();
std::span<const Filter> NumberFilters();

}  // namespace tonnage::chat
