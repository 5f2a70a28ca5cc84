#include "server/supervisor/quarantine.h"

#include <utility>

namespace tonnage {

void Quarantine::Crashed(const std::vector<std::uint64_t>& running) {
  const std::set<std::uint64_t> before =
      std::exchange(suspects_, std::set<std::uint64_t>(running.begin(), running.end()));
  for (const std::uint64_t key : suspects_) {
    if (before.contains(key) && held_.insert(key).second) order_.push_back(key);
  }
  while (order_.size() > kMost) {
    held_.erase(order_.front());
    order_.pop_front();
  }
}

Status Quarantine::Check(std::uint64_t key) const {
  if (!held_.contains(key)) return {};
  return InvalidArgument(
      "this request was running when the model's runner died, twice in a row: it is not tried "
      "again");
}

}  // namespace tonnage
