// Which requests are not tried again: those that were running in two successive crashes of their
// model's runner. Keys say which requests are alike (wire::KeyOf). Not for two threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "base/result.h"

namespace tonnage {

class Quarantine {
 public:
  // The runner died while these were running.
  void Crashed(const std::vector<std::uint64_t>& running);
  // The request came to a good end: the last crash was not its doing.
  void Finished(std::uint64_t key) { suspects_.erase(key); }
  // InvalidArgument for one that is in quarantine.
  Status Check(std::uint64_t key) const;
  std::size_t size() const { return order_.size(); }

 private:
  static constexpr std::size_t kMost = 4096;  // then the oldest are let go

  std::set<std::uint64_t> suspects_;  // were running in the last crash
  std::set<std::uint64_t> held_;
  std::deque<std::uint64_t> order_;  // of held_
};

}  // namespace tonnage
