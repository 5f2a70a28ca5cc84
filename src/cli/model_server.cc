#include "cli/model_server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "memory/host_memory.h"
#include "server/openai/errors.h"
#include "server/openai/routes.h"
#include "server/own_routes.h"

namespace tonnage::cli {
namespace {

// How long answers that were ended have to be written.
constexpr std::int64_t kFlushMs = 2'000;

std::int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::uint64_t RandomId() {
  return (std::uint64_t{std::random_device()()} << 32) ^ std::random_device()();
}

// What all runners together may hold: what is free, and what they hold already. This process's own
// memory is no runner's, and the user's limits are on what is loaded.
Result<Available> RunnersBudget(const std::vector<std::int64_t>& process_ids,
                                const ModelOptions& load, const Environment& environment) {
  const HostProcess self = ReadHostProcess();
  Bytes held = 0;
  for (const std::int64_t id : process_ids) held += ReadAnonymousBytes(id);
  std::vector<MemoryLimit> host = ReadHostLimits(self);
  for (MemoryLimit& limit : host) limit.bytes += held - self.anonymous;
  ASSIGN_OR_RETURN(
      const auto limits,
      ResolveHostBudget(std::move(host), {{"--memory-limit", load.memory_limit},
                                          {"TONNAGE_MEMORY_LIMIT", environment.memory_limit}}));
  return Available{limits.front().bytes, limits.front().source};
}

}  // namespace

void Log(std::string_view line) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::string text =
      fmt::format("{:%Y-%m-%dT%H:%M:}{:%S}Z {}\n", fmt::gmtime(now), now.time_since_epoch(), line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// ---- The runners' logs --------------------------------------------------------------------------

Result<RunnerLogs> RunnerLogs::Make(const std::string& folder) {
  std::error_code error;
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, error);
    if (error) return Unreadable("--runner-logs {}: {}", folder, error.message());
    return RunnerLogs(folder, false);
  }
  std::string name = (std::filesystem::temp_directory_path(error) / "tonnage-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    return Unavailable("there is no temporary folder for the runners' logs: give --runner-logs");
  }
  return RunnerLogs(name, true);
}

RunnerLogs::RunnerLogs(RunnerLogs&& other) noexcept
    : folder_(std::move(other.folder_)), temporary_(std::exchange(other.temporary_, false)) {}

RunnerLogs::~RunnerLogs() {
  std::error_code ignored;
  if (temporary_) std::filesystem::remove_all(folder_, ignored);
}

std::string RunnerLogs::PathOf(std::string_view model) const {
  std::string name(model);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  return (folder_ / (name + ".log")).string();
}

// ---- The server ---------------------------------------------------------------------------------

Result<std::unique_ptr<ModelServer>> ModelServer::Start(const ServeOptions& options,
                                                        const Environment& environment) {
  ASSIGN_OR_RETURN(RunnerLogs logs, RunnerLogs::Make(options.runner_logs));
  std::unique_ptr<ModelServer> server(new ModelServer(std::move(logs)));
  RETURN_IF_ERROR(server->OpenModels(options, environment));
  Log(fmt::format("runners print to {}", server->logs_.folder().string()));
  server->MakeFleet(options, environment);
  RETURN_IF_ERROR(server->LoadFirst());
  RETURN_IF_ERROR(server->Listen(options, environment));
  return server;
}

ModelServer::~ModelServer() {
  http_.reset();
  app_.reset();
  const bool crashed = std::ranges::any_of(
      models_, [](const auto& model) { return model->engine().status().crashes > 0; });
  if (crashed) logs_.Keep();
  fleet_.reset();  // every answer ends, so that dispatchers need not wait for one
}

Status ModelServer::OpenModels(const ServeOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(const auto names, options.Names());
  const Bytes bare_bytes = ReadHostProcess().anonymous;
  for (size_t i = 0; i < names.size(); ++i) {
    ASSIGN_OR_RETURN(auto model, HostedModel::Open(options, options.models[i], names[i],
                                                   environment, bare_bytes));
    models_.push_back(std::move(model));
  }
  return {};
}

void ModelServer::MakeFleet(const ServeOptions& options, const Environment& environment) {
  SupervisorOptions each{.heartbeat = std::chrono::milliseconds(options.heartbeat_ms),
                         .most_waiting = static_cast<size_t>(options.queue.requests),
                         .log = Log};
  if (options.keep_alive_seconds) {
    each.keep_alive =
        std::chrono::milliseconds(static_cast<std::int64_t>(*options.keep_alive_seconds * 1000));
  }
  fleet_ = std::make_unique<Fleet>(FleetOptions{
      .budget = [load = options.load,
                 &environment](const auto& ids) { return RunnersBudget(ids, load, environment); },
      .supervisor = std::move(each)});
  std::vector<ServedModel> served;
  for (const auto& model : models_) {
    const std::string log_path = logs_.PathOf(model->name());
    Supervisor& supervisor = fleet_->Add(
        model->name(), model->engine(),
        [model = model.get(), log_path](const Available& share) {
          return model->Launch(share, log_path);
        },
        [model = model.get()](const Available& available) { return model->Price(available); });
    supervisors_.push_back(&supervisor);
    served.push_back({.names = model->names(),
                      .created_s = UnixSeconds(),
                      .engine = model->text_engine(),
                      .dispatcher = &model->dispatcher(),
                      .load = [&supervisor](auto done) { supervisor.Load(std::move(done)); }});
  }
  directory_ = std::make_shared<ServedModels>(std::move(served));
  fleet_->Run();
}

Status ModelServer::LoadFirst() {
  std::promise<Status> loaded;
  supervisors_.front()->Load([&](Result<Supervisor::Use> use) {
    loaded.set_value(use.ok() ? Status() : Status(use.error()));
  });
  return loaded.get_future().get();
}

std::vector<http::Route> ModelServer::Routes(const ServeOptions& options) {
  std::vector<std::shared_ptr<Metrics>> metrics;
  for (const auto& model : models_) metrics.push_back(model->metrics());
  std::vector<http::Route> routes =
      OwnRoutes({.models = directory_,
                 .metrics = std::move(metrics),
                 .jobs = &jobs_,
                 .plan = [this](const std::string& name, const PlanQuery& query) -> Result<Json> {
                   const auto model = std::ranges::find_if(models_, [&](const auto& each) {
                     return std::ranges::find(each->names(), name) != each->names().end();
                   });
                   return (*model)->Plan(query);  // the route has looked it up
                 },
                 .heartbeat = std::chrono::milliseconds(options.heartbeat_ms),
                 .draining = [this] { return app_->draining(); }});
  for (http::Route& route : openai::Routes({.models = directory_,
                            .version = TONNAGE_VERSION,
                            .unix_s = UnixSeconds,
                            .random = RandomId,
                            .warn = Log})) {
    routes.push_back(std::move(route));
  }
  return routes;
}

Status ModelServer::Listen(const ServeOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(std::vector<std::string> api_keys, ReadApiKeys(options, environment));
  app_ = std::make_unique<App>(
      AppOptions{.api_keys = std::move(api_keys),
                 .cors_origins = options.cors_origins,
                 .open_paths = ProbePaths(),
                 .random = RandomId,
                 .log = options.quiet ? nullptr : std::function<void(std::string_view)>(Log)},
      Routes(options));
  ASSIGN_OR_RETURN(http_,
                   http::Server::Start(options.http, app_->handler(),
                                       [](int status, std::string_view message, std::string_view) {
                                         return openai::ErrorResponse(status, message);
                                       }));
  return {};
}

bool ModelServer::WaitIdle(std::int64_t deadline_ms, const StopSignals* signals) const {
  constexpr int kPollMs = 10;
  const auto deadline = Clock::now() + std::chrono::milliseconds(deadline_ms);
  while (app_->in_flight() > 0 && Clock::now() < deadline) {
    if (signals == nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    } else if (signals->Wait(kPollMs)) {
      break;
    }
  }
  return app_->in_flight() == 0;
}

void ModelServer::Drain(std::int64_t deadline_ms, const StopSignals& signals) {
  app_->Drain();
  Log(fmt::format("draining: {} requests under way, up to {} s", app_->in_flight(),
                  deadline_ms / 1000));
  if (!WaitIdle(deadline_ms, &signals)) {
    Log(fmt::format("ending {} requests that are still under way", app_->in_flight()));
    const Error closing = Unavailable("the server is shutting down: send the request again");
    fleet_->RefuseWaiting(closing);
    for (const auto& model : models_) model->dispatcher().EndAll(closing);
    WaitIdle(kFlushMs, nullptr);
  }
  http_->Drain(kFlushMs);
}

}  // namespace tonnage::cli
