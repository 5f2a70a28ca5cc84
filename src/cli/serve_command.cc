// serve: models over HTTP, each in a process of its own. Standard output carries one line of JSON,
// when the server is ready; the log goes to standard error. SIGTERM and SIGINT end it gracefully, a
// second one at once.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_server.h"
#include "cli/serve_options.h"
#include "engine/plan_json.h"

namespace tonnage::cli {
namespace {

std::string ReadyLine(HostedModel& model, const std::string& url) {
  const RemoteEngine& engine = model.engine();
  const Available& available = model.runtime().available();
  const LoadPlan plan{.settings = {.context_tokens = engine.cache().context_tokens,
                                   .slots = engine.cache().slots,
                                   .kv_dtype = engine.cache().kv_dtype},
                      .quote = engine.quote(),
                      .refusal = std::nullopt};
  return DumpJson({{"event", "ready"},
                   {"address", url},
                   {"model", model.name()},
                   {"process_id", engine.status().process_id},
                   {"placement", Json::array({{{"device", engine.quote().device.ToString()},
                                               {"layers", engine.info().layers}}})},
                   {"quote", PlanJson(model.name(), available, {&plan, 1})["plans"][0]},
                   {"version", TONNAGE_VERSION}});
}

Status Serve(ServeOptions options, const Environment& environment) {
  options.http.address = options.host == "localhost" ? "127.0.0.1" : options.host;
  ASSIGN_OR_RETURN(const auto server, ModelServer::Start(options, environment));
  const StopSignals signals;
  HostedModel& model = server->model();
  const CacheSettings& cache = model.engine().cache();
  Log(fmt::format("serving {} at {}: {} slots of {} tokens", model.name(), server->url(),
                  cache.slots, FormatThousands(cache.context_tokens)));
  fmt::print("{}\n", ReadyLine(model, server->url()));
  std::fflush(stdout);
  signals.Wait(-1);
  server->Drain(options.drain_seconds * 1000, signals);
  Log("stopped");
  return {};
}

}  // namespace

void DefineServe(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<ServeOptions>();
  options->AddTo(app);
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
