// Loads a model as the program does, in this process or in a runner's, runs the largest request
// there can be in every slot at a time, and fills the queue behind them. Says, a line of JSON each,
// which process has the model; then what was quoted and what the ledger and that process hold. Then
// it waits for a line on standard input, so that somebody else can look at the process before
// anything is given back. quote_test.py drives it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <iostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command.h"
#include "cli/process.h"
#include "cli/runtime.h"
#include "memory/host_process.h"
#include "server/supervisor/supervisor.h"

namespace tonnage {
namespace {

struct ProbeOptions {
  cli::ModelOptions model;
  QueueLimits queue = {.requests = 0, .tokens = 0};
  std::string runner;  // the program, where the model is to be in a process of its own
};

// Fills the context, looks back on all of it, and wants every alternative of every token.
Request LargestRequest(const TokenEngine& engine, std::int32_t salt) {
  const std::int64_t context = engine.cache().context_tokens;
  const std::int64_t answer = std::max<std::int64_t>(1, context / 4);
  Request request;
  request.max_tokens = answer;
  request.logprobs = kMaxTopLogprobs;
  for (std::int64_t i = 0; i < context - answer; ++i) {
    request.prompt.push_back(
        static_cast<std::int32_t>((i * 7919 + salt * 101 + 5) % engine.info().vocab));
  }
  request.sampling.temperature = 0.8;
  request.sampling.repetition_penalty = 1.05;
  request.sampling.seed = 1;
  return request;
}

// Requests that can only wait, as many and as long as the queue takes.
Status FillQueue(TokenEngine& engine, const QueueLimits& queue, std::vector<Generation>& waiting) {
  const std::int64_t context = engine.cache().context_tokens;
  std::int64_t tokens = queue.tokens;
  for (std::int64_t i = 0; i < queue.requests; ++i) {
    const std::int64_t prompt =
        std::min({context - 1, tokens, CeilDiv(queue.tokens, queue.requests)});
    if (prompt < 1) break;
    ASSIGN_OR_RETURN(
        Generation generation,
        engine.Start({.prompt = std::vector<std::int32_t>(static_cast<size_t>(prompt), 1),
                      .max_tokens = 1}));
    waiting.push_back(std::move(generation));
    tokens -= prompt;
  }
  return {};
}

// Until every answer has come, with all of them unread.
Status RunFull(TokenEngine& engine, const ProbeOptions& options, std::vector<Generation>& held) {
  for (std::int64_t slot = 0; slot < engine.cache().slots; ++slot) {
    ASSIGN_OR_RETURN(Generation generation,
                     engine.Start(LargestRequest(engine, static_cast<std::int32_t>(slot))));
    held.push_back(std::move(generation));
  }
  RETURN_IF_ERROR(FillQueue(engine, options.queue, held));
  for (std::int64_t slot = 0; slot < engine.cache().slots; ++slot) {
    for (std::int64_t token = 0; token < engine.cache().context_tokens / 4; ++token) {
      const auto event = held[static_cast<size_t>(slot)].Next();
      const auto* done = std::get_if<DoneEvent>(&*event);
      if (done != nullptr && done->error) return *done->error;
      if (done != nullptr) return Internal("a request ended early");
    }
  }
  return {};
}

void SayLine(const Json& json) {
  fmt::print("{}\n", DumpJson(json));
  std::fflush(stdout);
}

Status Measure(TokenEngine& engine, std::int64_t process_id, const ProbeOptions& options) {
  SayLine({{"process_id", process_id}});
  std::vector<Generation> held;
  RETURN_IF_ERROR(RunFull(engine, options, held));
  const Quote quote = engine.quote();
  Json terms;
  for (int term = 0; term < kOwnerCount; ++term) {
    terms[std::string(OwnerName(static_cast<Owner>(term)))] = quote.Of(static_cast<Owner>(term));
  }
  SayLine({{"quote", quote.Total()},
           {"terms", terms},
           {"ledger_peak", engine.status().memory.peak_bytes},
           {"anonymous", ReadAnonymousBytes(process_id)}});
  std::string line;
  std::getline(std::cin, line);
  return {};
}

Status ProbeHere(const ProbeOptions& options) {
  cli::Environment environment;
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.Settings());
  settings.queue = options.queue;
  ASSIGN_OR_RETURN(const auto runtime, cli::Runtime::Open(options.model, environment));
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  return Measure(*engine, getpid(), options);
}

Status ProbeRunner(const ProbeOptions& options) {
  ASSIGN_OR_RETURN(const auto runtime, cli::Runtime::Open(options.model, {}));
  RunnerCommand command{.program = options.runner,
                        .arguments = {"runner", runtime->path(), "--queue-requests",
                                      std::to_string(options.queue.requests), "--queue-tokens",
                                      std::to_string(options.queue.tokens)},
                        .log_path = "/dev/null"};
  for (const std::string& word : options.model.Arguments()) command.arguments.push_back(word);
  RemoteEngine engine(
      runtime->model().model.info,
      {.context_tokens = options.model.context_tokens.value_or(0), .slots = options.model.slots},
      {});
  Supervisor supervisor(
      {.launch = [&](const Available&) { return LaunchRunner(command); },
       .admit = []() -> Result<std::optional<Available>> { return std::optional(Available{}); }},
      engine);
  supervisor.Run();
  std::promise<Result<Supervisor::Use>> loaded;
  supervisor.Load([&](Result<Supervisor::Use> use) { loaded.set_value(std::move(use)); });
  ASSIGN_OR_RETURN(const Supervisor::Use use, loaded.get_future().get());
  return Measure(engine, engine.status().process_id, options);
}

}  // namespace
}  // namespace tonnage

int main(int argc, char** argv) {
  tonnage::cli::PrepareProcess();
  CLI::App app("quote_probe");
  tonnage::ProbeOptions options;
  options.model.AddTo(app);
  app.add_option("--queue-requests", options.queue.requests);
  app.add_option("--queue-tokens", options.queue.tokens);
  app.add_option("--runner", options.runner);
  CLI11_PARSE(app, argc, argv);
  const tonnage::Status status =
      options.runner.empty() ? tonnage::ProbeHere(options) : tonnage::ProbeRunner(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return tonnage::ExitCode(status.error().code());
}
