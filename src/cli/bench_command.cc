// bench: how fast a model reads a prompt and writes an answer here.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/runtime.h"

namespace tonnage::cli {
namespace {

struct BenchOptions {
  ModelOptions model;
  std::int64_t prompt = 512;
  std::int64_t generate = 128;
  int repeat = 5;
  std::string ids;
  bool json = false;
};

struct Run {
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;  // of the tokens after the first
  std::vector<std::int32_t> ids;
};

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Tokens spread over the vocabulary, the same each time.
std::vector<std::int32_t> SpreadPrompt(std::int64_t count, std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>((i * 7919 + 100) % vocab));
  return ids;
}

Result<Run> Measure(Engine& engine, const std::vector<std::int32_t>& prompt,
                    std::int64_t generate) {
  Request request{.prompt = prompt, .max_tokens = generate};
  request.sampling.temperature = 0;
  ASSIGN_OR_RETURN(Generation generation, engine.Start(std::move(request)));
  Run run;
  while (auto event = generation.Next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) run.ids.push_back(token->token);
    const auto* done = std::get_if<DoneEvent>(&*event);
    if (done == nullptr) continue;
    if (done->error) return *done->error;
    run.prefill_tokens_per_s = static_cast<double>(prompt.size()) / Seconds(done->usage.prefill);
    if (run.ids.size() > 1) {
      run.decode_tokens_per_s =
          static_cast<double>(run.ids.size() - 1) / Seconds(done->usage.decode);
    }
  }
  return run;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Status Bench(const BenchOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.Settings());
  ASSIGN_OR_RETURN(const auto runtime, Runtime::Open(options.model, environment));
  std::vector<std::int32_t> prompt =
      SpreadPrompt(options.prompt, runtime->model().model.info.vocab);
  if (!options.ids.empty()) {
    ASSIGN_OR_RETURN(const Json json, ParseJson(options.ids));
    ASSIGN_OR_RETURN(prompt, IdsFromJson(json));
  }
  if (!settings.context_tokens)
    settings.context_tokens = static_cast<std::int64_t>(prompt.size()) + options.generate;
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  std::vector<double> prefill;
  std::vector<double> decode;
  std::vector<std::int32_t> ids;
  for (int i = 0; i < options.repeat; ++i) {
    ASSIGN_OR_RETURN(Run run, Measure(*engine, prompt, options.generate));
    prefill.push_back(run.prefill_tokens_per_s);
    decode.push_back(run.decode_tokens_per_s);
    ids = std::move(run.ids);
  }
  if (options.json) {
    fmt::print("{}\n", DumpJson({{"prompt_tokens", prompt.size()},
                                 {"generated_tokens", ids.size()},
                                 {"threads", runtime->threads()},
                                 {"prefill_tokens_per_s", Median(prefill)},
                                 {"decode_tokens_per_s", Median(decode)},
                                 {"weights_bytes", engine->quote().weights},
                                 {"ids", ids}}));
    return {};
  }
  fmt::print("{} threads, median of {}\n", runtime->threads(), options.repeat);
  fmt::print("prefill {:6} tokens  {:10.1f} tokens/s\n", prompt.size(), Median(prefill));
  fmt::print("decode  {:6} tokens  {:10.1f} tokens/s  {:6.1f} GB/s of weights\n", ids.size(),
             Median(decode), Median(decode) * static_cast<double>(engine->quote().weights) / 1e9);
  return {};
}

}  // namespace

void DefineBench(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  options->model.AddTo(app);
  app.add_option("--prompt", options->prompt, "tokens of the prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--generate", options->generate, "tokens of the answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--repeat", options->repeat, "runs, of which the median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--ids", options->ids, "the prompt itself, a JSON array of token ids");
  app.add_flag("--json", options->json, "one JSON object");
  app.callback(
      [&, options] { action = [&environment, options] { return Bench(*options, environment); }; });
}

}  // namespace tonnage::cli
