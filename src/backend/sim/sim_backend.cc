#include "backend/sim/sim_backend.h"

#include <algorithm>
#include <utility>

#include "backend/sim/sim_program.h"
#include "backend/sim/weight_store.h"

namespace tonnage {
namespace {

// What a workspace is planned for: the queue's thread computes alone, whatever this machine has, so
// that prices are the same everywhere.
constexpr int kThreads = 1;

CostStep LargestStep(const ProgramSpec& spec) {
  return {.rows = spec.limits,
          .sequences = std::min(spec.cache_settings.slots, spec.limits.rows),
          .context_tokens = spec.cache_settings.context_tokens,
          .formats = spec.formats,
          .kv_dtype = spec.cache_settings.kv_dtype};
}

// Two devices differ in what they compile; one device's nodes of a kind share a kernel.
std::string KernelName(const Node& node, const WeightPlan& weights) {
  std::string name(OpName(node.op));
  if (!node.weights.empty()) {
    const WeightPlace& place = weights.places[static_cast<size_t>(node.weights[0].id)];
    if (place.kernel != nullptr)
      name += fmt::format(" {} {}", place.kernel->name, place.format.Name());
  }
  return name;
}

}  // namespace

SimBackend::SimBackend(SimDevice& device, const SimBackendOptions& options)
    : device_(device), options_(options), kernels_(SelectKernels(CpuFeatures{}, options.kernel)) {}

SimBackend::Workers& SimBackend::StartedWorkers() {
  std::call_once(started_, [this] { workers_ = std::make_unique<Workers>(); });
  return *workers_;
}

std::vector<size_t> SimBackend::Placement(const Graph& graph) const {
  std::vector<size_t> device_of;
  for (const Node& node : graph.nodes) {
    const bool helped = node.layer >= 0 && node.layer < options_.helper_layers;
    device_of.push_back(helped && options_.helper != nullptr ? 1 : 0);
  }
  return device_of;
}

std::vector<SubmissionDevice> SimBackend::SubmissionDevices() const {
  std::vector<SubmissionDevice> devices = {{device_.profile().speed, options_.limits}};
  if (options_.helper != nullptr) {
    const SimProfile& helper = options_.helper->profile();
    devices.push_back({helper.speed, helper.submission});
  }
  return devices;
}

Result<std::vector<Submission>> SimBackend::Plan(const ProgramSpec& spec,
                                                 const WeightPlan& weights) const {
  RETURN_IF_ERROR(
      SimWeightStore::Check(*spec.graph, weights, device_.profile().speed, options_.limits));
  return PlanSubmissions(*spec.graph, LargestStep(spec), SubmissionDevices(),
                         Placement(*spec.graph));
}

Result<ProgramPrice> SimBackend::Price(const ProgramSpec& spec) const {
  ASSIGN_OR_RETURN(const HostPlan plan, MakeHostPlan(spec, kernels_, kThreads));
  ProgramPrice price = plan.Price(device_);
  price.runtime += device_.profile().context_bytes;
  return price;
}

Result<SimForecast> SimBackend::Forecast(const ProgramSpec& spec) const {
  ASSIGN_OR_RETURN(const HostPlan plan, MakeHostPlan(spec, kernels_, kThreads));
  ASSIGN_OR_RETURN(const std::vector<Submission> submissions, Plan(spec, plan.weights));
  const SimProfile& profile = device_.profile();
  const std::vector<SubmissionDevice> devices = SubmissionDevices();
  CostStep one = LargestStep(spec);
  one.rows = {.rows = 1, .logit_rows = 1};
  one.sequences = 1;
  SimForecast forecast{.submissions = static_cast<std::int64_t>(submissions.size()),
                       .watchdog_ms = profile.watchdog_ms,
                       .prefill_rows = spec.limits.rows};
  for (const auto& [nodes, device] : submissions) {
    const DeviceSpeed& speed = devices[device].speed;
    const Work largest = RangeWork(*spec.graph, nodes, LargestStep(spec), speed);
    if (largest.ms > forecast.longest.ms) forecast.longest = largest;
    forecast.prefill_ms += largest.ms + speed.submission_ms;
    forecast.decode_ms += RangeWork(*spec.graph, nodes, one, speed).ms + speed.submission_ms;
  }
  Work copies;
  for (const Bytes bytes : plan.weights.buffer_bytes) copies += CopyWork(bytes, profile.speed);
  forecast.longest_copy_ms = std::min(copies.ms, options_.limits.ms);
  forecast.killed =
      std::max(forecast.longest.ms, forecast.longest_copy_ms) + profile.speed.submission_ms >
      profile.watchdog_ms;
  return forecast;
}

Result<std::unique_ptr<WeightStore>> SimBackend::MakeWeightStore(const ProgramSpec& spec) {
  ASSIGN_OR_RETURN(HostPlan plan, MakeHostPlan(spec, kernels_, kThreads));
  if (const auto plans = Plan(spec, plan.weights); !plans.ok()) return plans.error();
  Workers& workers = StartedWorkers();
  ASSIGN_OR_RETURN(auto store, HostWeightStore::Make(*spec.graph, std::move(plan.weights), device_,
                                                     workers.pool, workers.pool_mutex));
  return std::unique_ptr<WeightStore>(
      std::make_unique<SimWeightStore>(std::move(store), device_, options_.limits));
}

Result<std::unique_ptr<Program>> SimBackend::MakeProgram(const ProgramSpec& spec,
                                                         std::unique_ptr<WeightStore> weights) {
  auto* const store = dynamic_cast<SimWeightStore*>(weights.get());
  if (store == nullptr) return Internal("the weights are not on the simulated device");
  ProgramParts parts;
  ASSIGN_OR_RETURN(parts.weights, store->Finish());
  ASSIGN_OR_RETURN(parts.plan, MakeHostPlan(spec, kernels_, kThreads));
  RETURN_IF_ERROR(parts.weights->CheckComplete(parts.plan.weights));
  SimSchedule schedule{.devices = {&device_, options_.helper}, .copies = options_.limits};
  ASSIGN_OR_RETURN(schedule.submissions, Plan(spec, parts.plan.weights));
  const std::vector<size_t> device_of = Placement(*spec.graph);
  for (size_t n = 0; n < spec.graph->nodes.size(); ++n) {
    const SimDevice& device = *schedule.devices[device_of[n]];
    schedule.kernels.push_back(&cache_.Get(device.id(), device.profile().speed,
                                           KernelName(spec.graph->nodes[n], parts.plan.weights)));
  }
  ASSIGN_OR_RETURN(parts.buffers, ProgramBuffers::Allocate(parts.plan, device_));
  Workers& workers = StartedWorkers();
  return std::unique_ptr<Program>(std::make_unique<SimProgram>(
      spec, std::move(parts), kernels_, std::move(schedule), workers.queue, workers.pool));
}

Result<Event> SimBackend::Submit(Program& program, const StepInputs& inputs) {
  return static_cast<SimProgram&>(program).Submit(inputs);
}

Status SimBackend::Wait(Event event) { return StartedWorkers().queue.Wait(event); }

}  // namespace tonnage
