// One model as the serving process has it: its header, tokenizer and templates, but not its
// weights, which are its runner's. Owns what stands around the runner's engine and takes it down in
// the right order; made on one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/serve_options.h"
#include "server/metrics.h"
#include "server/own_routes.h"
#include "server/supervisor/remote_engine.h"
#include "server/supervisor/runner_process.h"
#include "service/dispatcher.h"
#include "service/generate.h"

namespace tonnage::cli {

class HostedModel {
 public:
  // `bare_process_bytes` is what this process held before any model was opened: what the others
  // have added since is not in this one's price.
  static Result<std::unique_ptr<HostedModel>> Open(const ServeOptions& options,
                                                   const std::string& model,
                                                   std::vector<std::string> names,
                                                   const Environment& environment,
                                                   Bytes bare_process_bytes);

  const std::vector<std::string>& names() const { return names_; }
  const std::string& name() const { return names_.front(); }
  const Runtime& runtime() const { return *runtime_; }
  RemoteEngine& engine() { return *engine_; }
  const std::shared_ptr<const TextEngine>& text_engine() const { return text_engine_; }
  const std::shared_ptr<Metrics>& metrics() const { return metrics_; }
  Dispatcher& dispatcher() { return *dispatcher_; }

  // What a load with other settings would hold; from any thread.
  Result<Json> Plan(const PlanQuery& query);
  // What the runner will hold; Refused where that is more than there is. From any thread.
  Result<Bytes> Price(const Available& available);
  // Starts a runner with such a share. `log_path` is where it prints.
  Result<LaunchedRunner> Launch(const Available& share, const std::string& log_path) const;

 private:
  HostedModel(const ServeOptions& options, std::vector<std::string> names)
      : load_(options.load),
        queue_(options.queue),
        heartbeat_ms_(options.heartbeat_ms),
        names_(std::move(names)) {}
  // Settles the slots and the context, and the quote.
  Status Settle(bool slots_given);
  Result<LoadSettings> Settings(const ModelOptions& load) const;

  ModelOptions load_;  // with what was settled
  const QueueLimits queue_;
  const std::int64_t heartbeat_ms_;
  Bytes others_bytes_ = 0;
  const std::vector<std::string> names_;
  Quote planned_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<RemoteEngine> engine_;
  std::shared_ptr<const TextEngine> text_engine_;
  std::shared_ptr<Metrics> metrics_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace tonnage::cli
