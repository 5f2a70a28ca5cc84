// How work is handed to a device: in submissions bounded in bytes, launches and modelled time, so
// that no watchdog meets one and no queue is held for long. A submission holds launches of one
// device only and waits for nobody: a wait for another device ends one, and the next begins after
// it. Planned once, for the largest step; a smaller step's submissions are smaller. Pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "graph/cost.h"
#include "graph/graph.h"

namespace tonnage {

// How fast a device works, for modelled times: nominal rates, reached by no real step.
struct DeviceSpeed {
  double operations_per_s = 0;  // floating-point
  double bytes_per_s = 0;       // of its own memory
  double copy_bytes_per_s = 0;  // from and to the host
  double launch_ms = 0;         // beside the launch's own work
  double submission_ms = 0;     // beside its launches
};

// What one submission asks of a device.
struct Work {
  Bytes bytes = 0;  // moved
  std::int64_t launches = 0;
  double ms = 0;  // modelled
  Work& operator+=(const Work& other);
};

// A launch takes as long as its arithmetic or its traffic, whichever is longer.
Work LaunchWork(const Cost& cost, const DeviceSpeed& speed);
Work CopyWork(Bytes bytes, const DeviceSpeed& speed);

// The most that one submission may ask for; by default anything.
struct SubmissionLimits {
  Bytes bytes = std::numeric_limits<Bytes>::max();
  std::int64_t launches = std::numeric_limits<std::int64_t>::max();
  double ms = std::numeric_limits<double>::infinity();
  bool Allow(const Work& work) const {
    return work.bytes <= bytes && work.launches <= launches && work.ms <= ms;
  }
};

// Nodes [begin, end) of a graph.
struct NodeRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const NodeRange&) const = default;
};

// The launches of `range` in a step.
Work RangeWork(const Graph& graph, const NodeRange& range, const CostStep& step,
               const DeviceSpeed& speed);

// One of the devices that a graph's nodes are split between.
struct SubmissionDevice {
  DeviceSpeed speed;
  SubmissionLimits limits;
};

struct Submission {
  NodeRange nodes;
  size_t device = 0;
  bool operator==(const Submission&) const = default;
};

// Every node, in order, in as few submissions as the limits allow; where the device changes, a new
// one begins. `device_of` gives each node's index into `devices`. `largest` bounds every step that
// will run. Refused, naming the node, when one alone asks for more than a submission may.
Result<std::vector<Submission>> PlanSubmissions(const Graph& graph, const CostStep& largest,
                                                std::span<const SubmissionDevice> devices,
                                                std::span<const size_t> device_of);

// How many rows of row_bytes one submission may copy; 0 when not even one.
std::int64_t RowsPerCopy(Bytes row_bytes, const DeviceSpeed& speed, const SubmissionLimits& limits);

}  // namespace tonnage
