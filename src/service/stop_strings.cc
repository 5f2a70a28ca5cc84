#include "service/stop_strings.h"

#include <algorithm>

namespace tonnage {

Result<StopStrings> StopStrings::Make(std::span<const std::string> stops) {
  if (stops.size() > kMaxStopStrings) {
    return InvalidArgument("{} stop strings, but at most {} can be given", stops.size(),
                           kMaxStopStrings)
        .About("stop");
  }
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) return InvalidArgument("stop string {} is empty", i).About("stop");
    if (stops[i].size() > kMaxStopStringBytes) {
      return InvalidArgument("stop string {} has {} bytes, but at most {} are allowed", i,
                             stops[i].size(), kMaxStopStringBytes)
          .About("stop");
    }
  }
  return StopStrings(stops);
}

StopStrings::StopStrings(std::span<const std::string> stops) : nodes_(1) {
  for (const std::string& stop : stops) {
    std::int32_t node = 0;
    for (char byte : stop) {
      std::int32_t child = Child(node, byte);
      if (child < 0) {
        child = static_cast<std::int32_t>(nodes_.size());
        const std::uint32_t depth = nodes_[static_cast<size_t>(node)].depth + 1;
        nodes_[static_cast<size_t>(node)].children.emplace_back(byte, child);
        nodes_.push_back({.depth = depth});
      }
      node = child;
    }
    nodes_[static_cast<size_t>(node)].stop = static_cast<std::uint32_t>(stop.size());
  }
  // Breadth first, so that a node's fallback, which is less deep, is complete before it.
  std::vector<std::int32_t> order = {0};
  for (size_t i = 0; i < order.size(); ++i) {
    const Node& parent = nodes_[static_cast<size_t>(order[i])];
    for (const auto& [byte, child] : parent.children) {
      Node& node = nodes_[static_cast<size_t>(child)];
      if (order[i] != 0) node.fallback = Follow(parent.fallback, byte);
      if (node.stop == 0) node.stop = nodes_[static_cast<size_t>(node.fallback)].stop;
      order.push_back(child);
    }
  }
}

std::int32_t StopStrings::Child(std::int32_t node, char byte) const {
  for (const auto& [label, child] : nodes_[static_cast<size_t>(node)].children) {
    if (label == byte) return child;
  }
  return -1;
}

std::int32_t StopStrings::Follow(std::int32_t node, char byte) const {
  for (;;) {
    if (const std::int32_t child = Child(node, byte); child >= 0) return child;
    if (node == 0) return 0;
    node = nodes_[static_cast<size_t>(node)].fallback;
  }
}

bool StopStrings::Push(std::string_view text, std::string& out) {
  if (stopped_) return true;
  for (char byte : text) {
    held_.push_back(byte);
    at_ = Follow(at_, byte);
    if (const std::uint32_t stop = nodes_[static_cast<size_t>(at_)].stop; stop > 0) {
      out.append(held_, 0, held_.size() - stop);
      held_.clear();
      stopped_ = true;
      return true;
    }
  }
  const size_t free = held_.size() - nodes_[static_cast<size_t>(at_)].depth;
  out.append(held_, 0, free);
  held_.erase(0, free);
  return false;
}

void StopStrings::Finish(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace tonnage
