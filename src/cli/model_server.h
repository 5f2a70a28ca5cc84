// Everything of a server around its models' runners, taken down in the right order: first what
// makes requests, last what they stand on. One thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/hosted_model.h"
#include "cli/interrupt.h"
#include "cli/serve_options.h"
#include "server/app.h"
#include "server/http/server.h"
#include "server/served_models.h"
#include "server/side_jobs.h"
#include "server/supervisor/fleet.h"

namespace tonnage::cli {

// A line on standard error, with the time.
void Log(std::string_view line);

// Where the runners print: the folder that was asked for, or a temporary one, which goes with this
// object unless a runner has crashed.
class RunnerLogs {
 public:
  static Result<RunnerLogs> Make(const std::string& folder);
  RunnerLogs(RunnerLogs&& other) noexcept;
  ~RunnerLogs();
  std::string PathOf(std::string_view model) const;
  const std::filesystem::path& folder() const { return folder_; }
  void Keep() { temporary_ = false; }

 private:
  RunnerLogs(std::filesystem::path folder, bool temporary)
      : folder_(std::move(folder)), temporary_(temporary) {}
  std::filesystem::path folder_;
  bool temporary_;
};

class ModelServer {
 public:
  // Loads the first model, then listens.
  static Result<std::unique_ptr<ModelServer>> Start(const ServeOptions& options,
                                                    const Environment& environment);
  ~ModelServer();

  const std::string& url() const { return http_->url(); }
  // The first of the models, which is loaded.
  HostedModel& model() { return *models_.front(); }
  // Refuses what comes, lets what is under way finish until the deadline or another signal, then
  // ends it.
  void Drain(std::int64_t deadline_ms, const StopSignals& signals);

 private:
  explicit ModelServer(RunnerLogs logs) : logs_(std::move(logs)) {}
  Status OpenModels(const ServeOptions& options, const Environment& environment);
  void MakeFleet(const ServeOptions& options, const Environment& environment);
  Status LoadFirst();
  Status Listen(const ServeOptions& options, const Environment& environment);
  std::vector<http::Route> Routes(const ServeOptions& options);
  bool WaitIdle(std::int64_t deadline_ms, const StopSignals* signals) const;

  RunnerLogs logs_;
  std::vector<std::unique_ptr<HostedModel>> models_;
  std::unique_ptr<Fleet> fleet_;
  std::vector<Supervisor*> supervisors_;  // of the models
  std::shared_ptr<const ServedModels> directory_;
  SideJobs jobs_;
  std::unique_ptr<App> app_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace tonnage::cli
