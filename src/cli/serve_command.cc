// serve: one model over HTTP. Standard output carries one line of JSON, when the server is ready;
// the log goes to standard error. SIGTERM and SIGINT end it gracefully, a second one at once.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/memory_watch.h"
#include "cli/runtime.h"
#include "engine/plan_json.h"
#include "server/app.h"
#include "server/http/server.h"
#include "server/metrics.h"
#include "server/openai/errors.h"
#include "server/openai/routes.h"
#include "server/own_routes.h"
#include "server/served_models.h"
#include "server/side_jobs.h"
#include "service/dispatcher.h"
#include "service/text.h"
#include "service/text_files.h"

namespace tonnage::cli {
namespace {

// Conversations at a time where nobody says how many, if so many fit.
constexpr std::int64_t kDefaultSlots = 4;
// How long answers that were ended have to be written.
constexpr std::int64_t kFlushMs = 2'000;

struct ServeOptions {
  ModelOptions model;
  bool slots_given = false;
  http::Options http;
  std::string host = "127.0.0.1";
  std::vector<std::string> names;
  std::string api_key_file;
  std::vector<std::string> cors_origins;
  QueueLimits queue;
  std::int64_t drain_seconds = 30;
  bool quiet = false;
};

// ---- What the options say -----------------------------------------------------------------------

Result<std::vector<std::string>> ReadApiKeys(const ServeOptions& options,
                                             const Environment& environment) {
  std::vector<std::string> keys;
  if (!environment.api_key.empty()) {
    auto parsed = ParseApiKeys(environment.api_key);
    if (!parsed.ok()) return parsed.error().In("TONNAGE_API_KEY");
    keys = std::move(*parsed);
  }
  if (!options.api_key_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options.api_key_file));
    auto parsed = ParseApiKeys(text);
    if (!parsed.ok()) return parsed.error().In(options.api_key_file);
    keys.insert(keys.end(), parsed->begin(), parsed->end());
  }
  return keys;
}

// "smollm2" of "smollm2", "Qwen3-4B" of "./Qwen3-4B/", "model" of "models/model.gguf".
std::string NameOf(const std::string& model) {
  std::filesystem::path path(model);
  if (!path.has_filename()) path = path.parent_path();
  if (path.extension() == ".gguf") path.replace_extension();
  return path.filename().string();
}

// The settings asked for; with fewer slots than usual where nobody asked and only fewer fit.
Result<LoadSettings> ChooseSettings(const ServeOptions& options, Runtime& runtime) {
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.Settings());
  settings.queue = options.queue;
  for (; !options.slots_given && settings.slots > 1; settings.slots /= 2) {
    ASSIGN_OR_RETURN(const LoadPlan plan,
                     PlanLoad(runtime.model(), runtime.backend(), runtime.Complete(settings),
                              runtime.available()));
    if (!plan.refusal) break;
  }
  return settings;
}

// ---- The server ---------------------------------------------------------------------------------

std::int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void Log(std::string_view line) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::string text =
      fmt::format("{:%Y-%m-%dT%H:%M:}{:%S}Z {}\n", fmt::gmtime(now), now.time_since_epoch(), line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::uint64_t RandomId() {
  return (std::uint64_t{std::random_device()()} << 32) ^ std::random_device()();
}

// Everything of a server around its engine, taken down in the right order: first what makes
// requests, last what they stand on.
class ModelServer {
 public:
  static Result<std::unique_ptr<ModelServer>> Start(const ServeOptions& options,
                                                    const Environment& environment,
                                                    Runtime& runtime, Engine& engine,
                                                    const MemoryWatch& memory);

  const std::string& url() const { return http_->url(); }
  // Refuses what comes, lets what is under way finish until the deadline or another signal, then
  // ends it.
  void Drain(std::int64_t deadline_ms, const StopSignals& signals);

 private:
  ModelServer() = default;
  bool WaitIdle(std::int64_t deadline_ms, const StopSignals* signals) const;

  std::shared_ptr<const TextEngine> text_engine_;
  SideJobs jobs_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<App> app_;
  std::unique_ptr<http::Server> http_;
};

Result<Json> PlanFor(const ServeOptions& options, Runtime& runtime, const PlanQuery& query) {
  ModelOptions model = options.model;
  model.context_tokens = query.context_tokens;
  if (query.slots) model.slots = *query.slots;
  if (query.kv_dtype) model.kv_dtype = *query.kv_dtype;
  ASSIGN_OR_RETURN(LoadSettings settings, model.Settings());
  settings.queue = options.queue;
  settings = runtime.Complete(settings);
  ASSIGN_OR_RETURN(const auto plans,
                   PlanRungs(runtime.model(), runtime.backend(), settings, runtime.available()));
  return PlanJson(options.names.front(), runtime.available(), plans);
}

Result<std::unique_ptr<ModelServer>> ModelServer::Start(const ServeOptions& options,
                                                        const Environment& environment,
                                                        Runtime& runtime, Engine& engine,
                                                        const MemoryWatch& memory) {
  ASSIGN_OR_RETURN(std::vector<std::string> api_keys, ReadApiKeys(options, environment));
  std::unique_ptr<ModelServer> server(new ModelServer());
  ASSIGN_OR_RETURN(server->text_engine_, TextEngine::Make(engine, runtime.TakeText()));
  const auto models =
      std::make_shared<OneModel>(options.names, UnixSeconds(), server->text_engine_);
  const auto metrics = std::make_shared<Metrics>(options.names.front(), engine,
                                                 [&memory] { return memory.Report(); });
  server->dispatcher_ = std::make_unique<Dispatcher>(DispatcherOptions{
      .queue_requests = std::max<std::int64_t>(1, options.queue.requests), .observer = metrics});

  ModelServer* const self = server.get();
  std::vector<http::Route> routes = OwnRoutes(
      {.models = models,
       .engine = &engine,
       .metrics = metrics,
       .jobs = &server->jobs_,
       .plan = [options, &runtime](const PlanQuery& q) { return PlanFor(options, runtime, q); },
       .draining = [self] { return self->app_->draining(); }});
  for (http::Route& route : openai::Routes({.models = models,
                            .dispatcher = server->dispatcher_.get(),
                            .version = TONNAGE_VERSION,
                            .unix_s = UnixSeconds,
                            .random = RandomId,
                            .warn = Log})) {
    routes.push_back(std::move(route));
  }
  server->app_ = std::make_unique<App>(
      AppOptions{.api_keys = std::move(api_keys),
                 .cors_origins = options.cors_origins,
                 .open_paths = ProbePaths(),
                 .random = RandomId,
                 .log = options.quiet ? nullptr : std::function<void(std::string_view)>(Log)},
      std::move(routes));
  ASSIGN_OR_RETURN(server->http_,
                   http::Server::Start(options.http, server->app_->handler(),
                                       [](int status, std::string_view message, std::string_view) {
                                         return openai::ErrorResponse(status, message);
                                       }));
  return server;
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
    dispatcher_->EndAll(Unavailable("the server is shutting down: send the request again"));
    WaitIdle(kFlushMs, nullptr);
  }
  http_->Drain(kFlushMs);
}

std::string ReadyLine(const ServeOptions& options, const Runtime& runtime, const Engine& engine,
                      const std::string& url) {
  const LoadPlan plan{.settings = {.context_tokens = engine.cache().context_tokens,
                                   .slots = engine.cache().slots,
                                   .kv_dtype = engine.cache().kv_dtype},
                      .quote = engine.quote(),
                      .refusal = std::nullopt};
  return DumpJson(
      {{"event", "ready"},
       {"address", url},
       {"model", options.names.front()},
       {"placement", Json::array({{{"device", engine.quote().device.ToString()},
                                   {"layers", engine.info().layers}}})},
       {"quote", PlanJson(options.names.front(), runtime.available(), {&plan, 1})["plans"][0]},
       {"version", TONNAGE_VERSION}});
}

Status Serve(ServeOptions options, const Environment& environment) {
  if (options.names.empty()) options.names = {NameOf(options.model.model)};
  options.http.address = options.host == "localhost" ? "127.0.0.1" : options.host;
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::Open(options.model, environment, Runtime::Text::kRequired));
  ASSIGN_OR_RETURN(const LoadSettings settings, ChooseSettings(options, *runtime));
  options.model.slots = settings.slots;
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  const StopSignals signals;
  const MemoryWatch memory(*runtime, *engine);
  ASSIGN_OR_RETURN(const auto server,
                   ModelServer::Start(options, environment, *runtime, *engine, memory));
  Log(fmt::format("serving {} at {}: {} slots of {} tokens", options.names.front(), server->url(),
                  engine->cache().slots, FormatThousands(engine->cache().context_tokens)));
  fmt::print("{}\n", ReadyLine(options, *runtime, *engine, server->url()));
  std::fflush(stdout);
  signals.Wait(-1);
  server->Drain(options.drain_seconds * 1000, signals);
  Log("stopped");
  return {};
}

// ---- The options --------------------------------------------------------------------------------

void AddAddress(CLI::App& app, ServeOptions& options) {
  constexpr const char* kGroup = "Where and for whom";
  app.add_option("--host", options.host, "the IP address to listen on")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--port", options.http.port, "0 takes any free one")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--unix-socket", options.http.unix_socket, "listen on this path instead")
      ->group(kGroup);
  app.add_option("--tls-cert", options.http.tls_certificate, "PEM file of the certificate chain")
      ->group(kGroup);
  app.add_option("--tls-key", options.http.tls_key, "PEM file of its key")->group(kGroup);
  app.add_option("--api-key-file", options.api_key_file,
                 "a file with a key a line; a request must bring one of them")
      ->group(kGroup);
  app.add_option("--cors-origin", options.cors_origins,
                 "let web pages of this origin use the server; * for all; may be given several "
                 "times")
      ->group(kGroup);
  app.add_option("--served-name", options.names,
                 "what clients call the model (default: as MODEL has it); may be given several "
                 "times")
      ->group(kGroup);
  app.add_flag("--quiet", options.quiet, "no log line for each request")->group(kGroup);
}

void AddLimits(CLI::App& app, ServeOptions& options) {
  constexpr const char* kGroup = "Limits";
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(kGroup);
  };
  http::Limits& limits = options.http.limits;
  add("--queue-requests", options.queue.requests, "requests that may wait for a slot");
  add("--queue-tokens", options.queue.tokens, "tokens that their prompts may have in all");
  add("--max-header-bytes", limits.header_bytes, "of a request's head");
  add("--max-body-bytes", limits.body_bytes, "of a request's body");
  add("--max-bodies-bytes", limits.all_bodies_bytes, "of all bodies of requests under way");
  add("--header-ms", limits.header_ms, "for a whole head, from its first byte");
  add("--body-ms", limits.body_grace_ms, "for a body, beside what its rate allows");
  add("--body-bytes-per-second", limits.body_bytes_per_s, "the slowest that a body may come");
  add("--idle-ms", limits.idle_ms, "for a connection without a request");
  add("--write-ms", limits.write_ms, "for a client that takes nothing of its answer");
  add("--connections", limits.connections, "at a time");
  app.add_option("--drain-seconds", options.drain_seconds,
                 "how long answers may go on after SIGTERM")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(kGroup);
}

}  // namespace

void DefineServe(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<ServeOptions>();
  options->model.slots = kDefaultSlots;
  options->http.port = 8080;
  options->model.AddTo(app);
  AddAddress(app, *options);
  AddLimits(app, *options);
  app.footer(
      "Speaks OpenAI's protocol under /v1; /health, /ready, /metrics, /plan, /tokenize, "
      "/detokenize and\n"
      "/apply-template are its own (docs/serving.md). TONNAGE_API_KEY is one more key.");
  app.callback([&, options] {
    options->slots_given = app.count("--slots") > 0;
    action = [&environment, options] { return Serve(*options, environment); };
  });
}

}  // namespace tonnage::cli
