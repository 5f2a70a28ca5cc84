#include "graph/submissions.h"

#include <algorithm>

namespace tonnage {
namespace {

constexpr double kMsPerSecond = 1e3;

std::string Describe(const Work& work) {
  return fmt::format("{} launches, {} and {:.1f} ms", work.launches, FormatBytes(work.bytes),
                     work.ms);
}

Error TooLarge(const Node& node, const Work& work, const SubmissionLimits& limits) {
  std::string breach = "launches";
  if (work.bytes > limits.bytes) breach = FormatBytes(limits.bytes);
  if (work.ms > limits.ms) breach = fmt::format("{:g} ms", limits.ms);
  const std::string where = node.layer < 0 ? "" : fmt::format(" of layer {}", node.layer);
  return Refused(
      "the {}{} alone asks for {}, more than the {} of a submission: raise that limit, or take "
      "fewer rows in a step",
      OpName(node.op), where, Describe(work), breach);
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  bytes += other.bytes;
  launches += other.launches;
  ms += other.ms;
  return *this;
}

Work LaunchWork(const Cost& cost, const DeviceSpeed& speed) {
  const double arithmetic_s = cost.operations / speed.operations_per_s;
  const double traffic_s = static_cast<double>(cost.TotalBytes()) / speed.bytes_per_s;
  return {.bytes = cost.TotalBytes(),
          .launches = 1,
          .ms = std::max(arithmetic_s, traffic_s) * kMsPerSecond + speed.launch_ms};
}

Work CopyWork(Bytes bytes, const DeviceSpeed& speed) {
  return {
      .bytes = bytes,
      .launches = 1,
      .ms = static_cast<double>(bytes) / speed.copy_bytes_per_s * kMsPerSecond + speed.launch_ms};
}

Work RangeWork(const Graph& graph, const NodeRange& range, const CostStep& step,
               const DeviceSpeed& speed) {
  Work work;
  for (size_t n = range.begin; n < range.end; ++n) {
    work += LaunchWork(NodeCost(graph, graph.nodes[n], step), speed);
  }
  return work;
}

Result<std::vector<Submission>> PlanSubmissions(const Graph& graph, const CostStep& largest,
                                                std::span<const SubmissionDevice> devices,
                                                std::span<const size_t> device_of) {
  std::vector<Submission> submissions;
  Work open;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto& [speed, limits] = devices[device_of[n]];
    const Work work = LaunchWork(NodeCost(graph, graph.nodes[n], largest), speed);
    if (!limits.Allow(work)) return TooLarge(graph.nodes[n], work, limits);
    Work longer = open;
    longer += work;
    if (submissions.empty() || submissions.back().device != device_of[n] || !limits.Allow(longer)) {
      submissions.push_back({{n, n}, device_of[n]});
      longer = work;
    }
    submissions.back().nodes.end = n + 1;
    open = longer;
  }
  return submissions;
}

std::int64_t RowsPerCopy(Bytes row_bytes, const DeviceSpeed& speed,
                         const SubmissionLimits& limits) {
  if (limits.launches < 1) return 0;
  const double ms_left = limits.ms - speed.launch_ms;
  const double by_time = ms_left / kMsPerSecond * speed.copy_bytes_per_s;
  const double bytes = std::min(static_cast<double>(limits.bytes), by_time);
  const double rows = bytes / static_cast<double>(std::max<Bytes>(1, row_bytes));
  constexpr double kMost = 1e15;  // of rows: more than any matrix has
  return static_cast<std::int64_t>(std::clamp(rows, 0.0, kMost));
}

}  // namespace tonnage
