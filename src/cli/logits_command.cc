// logits: what the model computes, for comparing with other implementations.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "cli/commands.h"
#include "cli/runtime.h"

namespace tonnage::cli {
namespace {

struct LogitsOptions {
  ModelOptions model;
  std::string out;
  std::int64_t greedy = 0;
};

// Logits rows a step gives: enough to keep a long prompt's evaluation in few steps.
constexpr std::int64_t kLogitRows = 128;

Result<std::vector<std::int32_t>> ReadIds(std::istream& in) {
  std::string line;
  if (!std::getline(in, line))
    return InvalidArgument("standard input: give one line, an array of token ids");
  ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  return IdsFromJson(json);
}

Result<std::vector<std::int32_t>> ContinueGreedily(Engine& engine,
                                                   const std::vector<std::int32_t>& ids,
                                                   std::int64_t count) {
  std::vector<std::int32_t> continued;
  if (count == 0) return continued;
  Request request{.prompt = ids, .max_tokens = count};
  request.sampling.temperature = 0;
  ASSIGN_OR_RETURN(Generation generation, engine.Start(std::move(request)));
  while (auto event = generation.Next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) continued.push_back(token->token);
    if (const auto* done = std::get_if<DoneEvent>(&*event); done != nullptr && done->error)
      return *done->error;
  }
  return continued;
}

Status WriteAnswer(const std::string& path, const std::vector<float>& logits, std::int64_t vocab,
                   const std::vector<std::int32_t>& greedy) {
  const auto bytes_of = [](const auto& values) {
    return std::span(reinterpret_cast<const std::uint8_t*>(values.data()),
                     values.size() * sizeof(values[0]));
  };
  const std::int64_t rows = static_cast<std::int64_t>(logits.size()) / vocab;
  const SafetensorsTensor tensors[] = {
      {.name = "greedy_ids",
       .type = FindSafetensorsType("I32"),
       .shape = {static_cast<std::int64_t>(greedy.size())},
       .data = bytes_of(greedy)},
      {.name = "logits",
       .type = FindSafetensorsType("F32"),
       .shape = {rows, vocab},
       .data = bytes_of(logits)},
  };
  return WriteSafetensors(path, tensors);
}

Status Logits(const LogitsOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(const std::vector<std::int32_t> ids, ReadIds(std::cin));
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.ComparisonSettings());
  if (!settings.context_tokens)
    settings.context_tokens = static_cast<std::int64_t>(ids.size()) + options.greedy;
  settings.logit_rows = kLogitRows;
  ASSIGN_OR_RETURN(const auto runtime, Runtime::Open(options.model, environment));
  // Every row's logits, until they are written.
  settings.process_bytes =
      static_cast<Bytes>(ids.size()) * runtime->model().model.info.vocab * DTypeBytes(DType::kF32);
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  ASSIGN_OR_RETURN(const std::vector<float> logits, engine->Evaluate(ids));
  ASSIGN_OR_RETURN(const std::vector<std::int32_t> greedy,
                   ContinueGreedily(*engine, ids, options.greedy));
  return WriteAnswer(options.out, logits, engine->info().vocab, greedy);
}

}  // namespace

void DefineLogits(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<LogitsOptions>();
  options->model.AddTo(app);
  app.add_option("--out", options->out,
                 "the safetensors file to write: logits [T, vocab] f32, greedy_ids [N] i32")
      ->required();
  app.add_option("--greedy", options->greedy, "tokens to continue with, the likeliest each time")
      ->check(CLI::NonNegativeNumber);
  app.footer(
      "Reads one line from standard input: an array of token ids. With --precision exact the cache "
      "is f32 unless --kv says otherwise.");
  app.callback(
      [&, options] { action = [&environment, options] { return Logits(*options, environment); }; });
}

}  // namespace tonnage::cli
