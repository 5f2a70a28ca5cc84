#include "cli/hosted_model.h"

#include <algorithm>
#include <utility>

#include "engine/plan_json.h"
#include "memory/host_process.h"
#include "runner/serve_engine.h"

namespace tonnage::cli {
namespace {

// Signs of life in a heartbeat, so that one that comes late is no stall.
constexpr std::int64_t kBeatsPerHeartbeat = 4;
constexpr std::int64_t kMostBeatMs = 250;

}  // namespace

Result<std::unique_ptr<HostedModel>> HostedModel::Open(const ServeOptions& options,
                                                       const std::string& model,
                                                       std::vector<std::string> names,
                                                       const Environment& environment,
                                                       Bytes bare_process_bytes) {
  std::unique_ptr<HostedModel> hosted(new HostedModel(options, std::move(names)));
  hosted->others_bytes_ = std::max<Bytes>(0, ReadHostProcess().anonymous - bare_process_bytes);
  hosted->load_.model = model;
  ASSIGN_OR_RETURN(hosted->runtime_,
                   Runtime::Open(hosted->load_, environment, Runtime::Text::kRequired));
  hosted->load_.model = hosted->runtime_->path();
  RETURN_IF_ERROR(hosted->Settle(options.slots_given));
  ASSIGN_OR_RETURN(hosted->text_engine_,
                   TextEngine::Make(*hosted->engine_, hosted->runtime_->TakeText()));
  hosted->metrics_ = std::make_shared<Metrics>(hosted->name(), *hosted->engine_);
  hosted->dispatcher_ = std::make_unique<Dispatcher>(
      DispatcherOptions{.queue_requests = std::max<std::int64_t>(1, options.queue.requests),
                        .observer = hosted->metrics_});
  return hosted;
}

Result<LoadSettings> HostedModel::Settings(const ModelOptions& load) const {
  ASSIGN_OR_RETURN(LoadSettings settings, load.Settings());
  settings.queue = queue_;
  settings.process_bytes =
      ChannelBytes(settings.context_tokens.value_or(kDefaultContextTokens)) - others_bytes_;
  return runtime_->Complete(settings);
}

// Fewer slots than usual where nobody asked and only fewer fit.
Status HostedModel::Settle(bool slots_given) {
  for (;; load_.slots /= 2) {
    ASSIGN_OR_RETURN(const LoadSettings settings, Settings(load_));
    ASSIGN_OR_RETURN(const LoadPlan plan, PlanLoad(runtime_->model(), runtime_->backend(), settings,
                                                   runtime_->available()));
    if (plan.refusal && !slots_given && load_.slots > 1) continue;
    load_.context_tokens = plan.settings.context_tokens;
    planned_ = plan.quote;
    const CacheSettings cache{.context_tokens = plan.settings.context_tokens,
                              .slots = plan.settings.slots,
                              .kv_dtype = plan.settings.kv_dtype};
    engine_ = std::make_unique<RemoteEngine>(runtime_->model().model.info, cache, plan.quote);
    return {};
  }
}

Result<Json> HostedModel::Plan(const PlanQuery& query) {
  ModelOptions load = load_;
  load.context_tokens = query.context_tokens;
  if (query.slots) load.slots = *query.slots;
  if (query.kv_dtype) load.kv_dtype = *query.kv_dtype;
  ASSIGN_OR_RETURN(const LoadSettings settings, Settings(load));
  ASSIGN_OR_RETURN(const auto plans, PlanRungs(runtime_->model(), runtime_->backend(), settings,
                                               runtime_->available()));
  return PlanJson(name(), runtime_->available(), plans);
}

Result<Bytes> HostedModel::Price(const Available& available) {
  ASSIGN_OR_RETURN(const LoadSettings settings, Settings(load_));
  ASSIGN_OR_RETURN(const LoadPlan plan,
                   PlanLoad(runtime_->model(), runtime_->backend(), settings, available));
  if (plan.refusal) return Error(Code::kRefused, plan.refusal->Message());
  return plan.quote.Total();
}

Result<LaunchedRunner> HostedModel::Launch(const Available& share,
                                           const std::string& log_path) const {
  RunnerCommand command{
      .program = "/proc/self/exe",
      .arguments = {"runner", load_.model, "--queue-requests", std::to_string(queue_.requests),
                    "--queue-tokens", std::to_string(queue_.tokens), "--beat-ms",
                    std::to_string(std::min(kMostBeatMs, heartbeat_ms_ / kBeatsPerHeartbeat)),
                    "--share", std::to_string(share.bytes), "--share-source=" + share.source},
      .log_path = log_path};
  const std::vector<std::string> load = load_.Arguments();
  command.arguments.insert(command.arguments.end(), load.begin(), load.end());
  return LaunchRunner(command);
}

}  // namespace tonnage::cli
