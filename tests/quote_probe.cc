// Loads a model as the program does, runs the largest request there can be in every slot at a time,
// and fills the queue behind them; then says, as one line of JSON, what was quoted and what the
// ledger and the process hold, and waits for a line on standard input, so that somebody else can
// look at the process before anything is given back. quote_test.py drives it.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command.h"
#include "cli/process.h"
#include "cli/runtime.h"
#include "memory/host_process.h"

namespace tonnage {
namespace {

struct ProbeOptions {
  cli::ModelOptions model;
  QueueLimits queue = {.requests = 0, .tokens = 0};
};

// Fills the context, looks back on all of it, and wants every alternative of every token.
Request LargestRequest(const Engine& engine, std::int32_t salt) {
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
Status FillQueue(Engine& engine, const QueueLimits& queue, std::vector<Generation>& waiting) {
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
Status RunFull(Engine& engine, const ProbeOptions& options, std::vector<Generation>& held) {
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

Status Probe(const ProbeOptions& options) {
  cli::Environment environment;
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.Settings());
  settings.queue = options.queue;
  ASSIGN_OR_RETURN(const auto runtime, cli::Runtime::Open(options.model, environment));
  const Bytes opened = ReadHostProcess().anonymous;
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  const Bytes loaded = ReadHostProcess().anonymous;
  std::vector<Generation> held;
  RETURN_IF_ERROR(RunFull(*engine, options, held));
  const Quote& quote = engine->quote();
  Json terms;
  for (int term = 0; term < kOwnerCount; ++term) {
    terms[std::string(OwnerName(static_cast<Owner>(term)))] = quote.Of(static_cast<Owner>(term));
  }
  fmt::print("{}\n", DumpJson({{"quote", quote.Total()},
                               {"terms", terms},
                               {"ledger_peak", runtime->ledger().Peak()},
                               {"ledger", runtime->ledger().Total()},
                               {"opened", opened},
                               {"loaded", loaded},
                               {"anonymous", ReadHostProcess().anonymous}}));
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  return {};
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
  CLI11_PARSE(app, argc, argv);
  const tonnage::Status status = tonnage::Probe(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return tonnage::ExitCode(status.error().code());
}
