#include "chat/filters.h"

#include <map>

namespace tonnage::chat {

const Filter* FindFilter(std::string_view name) {
  static const auto* const kFilters = [] {
    auto* filters = new std::map<std::string_view, const Filter*>;
    for (const auto group :
         {TextFilters(), SequenceFilters(), OrderFilters(), ApplyingFilters(), NumberFilters()}) {
      for (const Filter& filter : group) filters->emplace(filter.name, &filter);
    }
    return filters;
  }();
  const auto it = kFilters->find(name);
  return it == kFilters->end() ? nullptr : it->second;
}

}  // namespace tonnage::chat
