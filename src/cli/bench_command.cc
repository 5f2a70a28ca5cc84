// bench: how fast a model reads prompts and writes answers here, beside how fast it could.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/bounds.h"
#include "cli/commands.h"
#include "cli/runtime.h"
#include "cli/workload.h"
#include "kernels/peak/peak.h"

namespace tonnage::cli {
namespace {

struct BenchOptions {
  ModelOptions model;
  std::int64_t prompt = 512;
  std::int64_t generate = 128;
  int repeat = 5;
  std::vector<std::int64_t> depths, batches, concurrencies;
  std::string ids;
  bool no_bounds = false;
  bool json = false;
};

// One line of the table.
struct Figure {
  std::string work;
  std::int64_t requests = 1;
  std::int64_t prompt_tokens = 0;     // of each
  std::int64_t generated_tokens = 0;  // of each
  double tokens_per_s = 0;
  std::optional<double> of_single = std::nullopt;  // as a multiple of what one request gets
  std::optional<Service> service = std::nullopt;
};

// What decoding sees on average.
std::int64_t MeanContext(const Figure& figure) {
  return figure.prompt_tokens + (figure.generated_tokens + 1) / 2;
}

double BoundTokensPerSecond(const Figure& figure, const Bounds& bounds) {
  const auto requests = static_cast<double>(figure.requests);
  const double prefill_s = requests * bounds.PrefillSeconds(figure.prompt_tokens);
  if (figure.work == "prefill") return static_cast<double>(figure.prompt_tokens) / prefill_s;
  const double step_s = bounds.DecodeSeconds(figure.requests, MeanContext(figure));
  if (figure.work != "concurrency") return requests / step_s;
  const auto tokens = static_cast<double>(figure.generated_tokens);
  return requests * tokens / (prefill_s + (tokens - 1) * step_s);
}

// Tokens spread over the vocabulary, the same each time.
std::vector<std::int32_t> SpreadPrompt(std::int64_t count, std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>((i * 7919 + 100) % vocab));
  return ids;
}

// Each begins elsewhere in `prompt`, so that their answers, and the experts they choose, differ.
std::vector<std::vector<std::int32_t>> Prompts(const std::vector<std::int32_t>& prompt,
                                               std::int64_t count) {
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::int64_t i = 0; i < count; ++i) {
    prompts.push_back(prompt);
    const auto begin = static_cast<std::ptrdiff_t>(static_cast<size_t>(i) % prompt.size());
    std::rotate(prompts.back().begin(), prompts.back().begin() + begin, prompts.back().end());
  }
  return prompts;
}

// Runs the works one after the other and collects their figures.
class Benchmark {
 public:
  Benchmark(const BenchOptions& options, std::vector<std::int32_t> prompt, Engine& engine)
      : options_(options), prompt_(std::move(prompt)), engine_(engine) {}

  Status Run() {
    RETURN_IF_ERROR(WarmUp());
    RETURN_IF_ERROR(MeasureSingle());
    for (const std::int64_t depth : options_.depths) RETURN_IF_ERROR(MeasureDepth(depth));
    for (const std::int64_t requests : options_.batches) RETURN_IF_ERROR(MeasureBatch(requests));
    for (const std::int64_t requests : options_.concurrencies)
      RETURN_IF_ERROR(MeasureConcurrency(requests));
    return {};
  }

  const std::vector<Figure>& figures() const { return figures_; }
  const std::vector<std::int32_t>& ids() const { return ids_; }

  // While the last request's prompt is still read, the first one decodes: so many tokens more.
  static std::int64_t Overlap(std::int64_t requests, std::int64_t prompt_tokens) {
    return CeilDiv(requests * prompt_tokens, LoadSettings().slice_rows) + 1;
  }

 private:
  std::int64_t prompt_tokens() const { return static_cast<std::int64_t>(prompt_.size()); }

  // What a first step finds out is not measured.
  Status WarmUp() {
    constexpr std::int64_t kPrompt = 512, kGenerate = 4;
    const auto count = static_cast<std::ptrdiff_t>(std::min(kPrompt, prompt_tokens()));
    const std::vector<std::int32_t> part(prompt_.begin(), prompt_.begin() + count);
    ASSIGN_OR_RETURN(const Timeline ignored,
                     RunSideBySide(engine_, {part}, std::min(kGenerate, options_.generate)));
    return {};
  }

  static Figure Prefill(std::int64_t tokens, double seconds) {
    return {.work = "prefill",
            .prompt_tokens = tokens,
            .tokens_per_s = static_cast<double>(tokens) / seconds};
  }
  Figure Decode(std::string work, std::int64_t requests, std::int64_t prompt_tokens,
                double tokens_per_s) const {
    return {.work = std::move(work),
            .requests = requests,
            .prompt_tokens = prompt_tokens,
            .generated_tokens = options_.generate,
            .tokens_per_s = tokens_per_s};
  }

  Status MeasureSingle() {
    std::vector<double> prefill, decode;
    for (int i = 0; i < options_.repeat; ++i) {
      ASSIGN_OR_RETURN(Timeline timeline, RunSideBySide(engine_, {prompt_}, options_.generate));
      prefill.push_back(FirstTokenSeconds(timeline));
      decode.push_back(DecodeTokensPerSecond(timeline));
      ids_ = std::move(timeline.first_ids);
    }
    single_tokens_per_s_ = Median(decode);
    figures_.push_back(Prefill(prompt_tokens(), Median(prefill)));
    figures_.push_back(Decode("decode", 1, prompt_tokens(), single_tokens_per_s_));
    return {};
  }

  // Once: such a prompt alone takes long.
  Status MeasureDepth(std::int64_t depth) {
    const auto prompt = SpreadPrompt(depth, engine_.info().vocab);
    ASSIGN_OR_RETURN(const Timeline timeline, RunSideBySide(engine_, {prompt}, options_.generate));
    figures_.push_back(Prefill(depth, FirstTokenSeconds(timeline)));
    figures_.push_back(Decode("decode", 1, depth, DecodeTokensPerSecond(timeline)));
    return {};
  }

  Status MeasureBatch(std::int64_t requests) {
    std::vector<double> speeds;
    for (int i = 0; i < options_.repeat; ++i) {
      ASSIGN_OR_RETURN(const Timeline timeline,
                       RunSideBySide(engine_, Prompts(prompt_, requests),
                                     options_.generate + Overlap(requests, prompt_tokens())));
      speeds.push_back(SideBySideTokensPerSecond(timeline));
    }
    Figure figure = Decode("batch", requests, prompt_tokens(), Median(speeds));
    if (single_tokens_per_s_ > 0) figure.of_single = figure.tokens_per_s / single_tokens_per_s_;
    figures_.push_back(figure);
    return {};
  }

  Status MeasureConcurrency(std::int64_t requests) {
    std::vector<Service> services;
    for (int i = 0; i < options_.repeat; ++i) {
      ASSIGN_OR_RETURN(const Timeline timeline,
                       RunSideBySide(engine_, Prompts(prompt_, requests), options_.generate));
      services.push_back(ServiceOf(timeline));
    }
    std::ranges::sort(services, {}, &Service::tokens_per_s);
    const Service& median = services[services.size() / 2];
    Figure figure = Decode("concurrency", requests, prompt_tokens(), median.tokens_per_s);
    figure.service = median;
    figures_.push_back(figure);
    return {};
  }

  const BenchOptions& options_;
  const std::vector<std::int32_t> prompt_;
  Engine& engine_;
  double single_tokens_per_s_ = 0;
  std::vector<Figure> figures_;
  std::vector<std::int32_t> ids_;
};

// Slots and context for all that will be measured.
void MakeRoom(const BenchOptions& options, std::int64_t prompt_tokens, LoadSettings& settings) {
  std::int64_t context = prompt_tokens + options.generate;
  for (const std::int64_t depth : options.depths)
    context = std::max(context, depth + options.generate);
  for (const std::int64_t requests : options.batches) {
    settings.slots = std::max(settings.slots, requests);
    context = std::max(
        context, prompt_tokens + options.generate + Benchmark::Overlap(requests, prompt_tokens));
  }
  for (const std::int64_t requests : options.concurrencies)
    settings.slots = std::max(settings.slots, requests);
  if (!settings.context_tokens) settings.context_tokens = context;
}

Result<Peaks> Measure(Runtime& runtime) {
  ASSIGN_OR_RETURN(const Buffer memory,
                   runtime.allocator().Allocate(Owner::kWorkspace, ColdBytes()));
  ThreadPool pool(runtime.threads());
  return MeasurePeaks({memory.data(), static_cast<size_t>(memory.bytes())}, runtime.features(),
                      pool);
}

Json FigureJson(const Figure& figure, const Bounds* bounds) {
  Json json = {{"work", figure.work},
               {"requests", figure.requests},
               {"prompt_tokens", figure.prompt_tokens},
               {"generated_tokens", figure.generated_tokens},
               {"tokens_per_s", figure.tokens_per_s}};
  if (bounds != nullptr) {
    const double bound = BoundTokensPerSecond(figure, *bounds);
    json["bound_tokens_per_s"] = bound;
    json["reached"] = figure.tokens_per_s / bound;
  }
  if (figure.of_single) json["of_single"] = *figure.of_single;
  if (figure.service) {
    json["first_token_s"] = figure.service->first_token_s;
    json["inter_token_s"] = figure.service->inter_token_s;
    json["longest_inter_token_s"] = figure.service->longest_inter_token_s;
  }
  return json;
}

Json BenchJson(const Benchmark& benchmark, const Bounds* bounds, const Runtime& runtime,
               const Engine& engine) {
  const std::vector<Figure>& figures = benchmark.figures();
  Json json = {{"model", std::filesystem::path(runtime.path()).filename().string()},
               {"prompt_tokens", figures[0].prompt_tokens},
               {"generated_tokens", benchmark.ids().size()},
               {"threads", runtime.threads()},
               {"prefill_tokens_per_s", figures[0].tokens_per_s},
               {"decode_tokens_per_s", figures[1].tokens_per_s},
               {"weights_bytes", engine.quote().weights},
               {"ids", benchmark.ids()},
               {"figures", Json::array()}};
  for (const Figure& figure : figures) json["figures"].push_back(FigureJson(figure, bounds));
  if (bounds != nullptr) {
    json["processor"] = runtime.features().ToString();
    json["read_bytes_per_s"] = bounds->peaks().read_bytes_per_s;
    for (const PeakRate& rate : bounds->peaks().rates)
      json["operations_per_s"][std::string(rate.name)] = rate.operations_per_s;
  }
  return json;
}

std::string WorkText(const Figure& figure) {
  const std::string prompt = FormatThousands(figure.prompt_tokens);
  if (figure.work == "prefill") return prompt + " tokens";
  const std::string behind = fmt::format("{} tokens behind {}", figure.generated_tokens, prompt);
  if (figure.requests == 1 && figure.work == "decode") return behind;
  return fmt::format("{} x {}", figure.requests, behind);
}

void PrintFigure(const Figure& figure, const Bounds* bounds) {
  fmt::print("{:<12} {:<30} {:10.1f}", figure.work, WorkText(figure), figure.tokens_per_s);
  if (bounds != nullptr) {
    const double bound = BoundTokensPerSecond(figure, *bounds);
    fmt::print(" {:10.1f} {:7.1f}%", bound, 100 * figure.tokens_per_s / bound);
  }
  if (figure.of_single) fmt::print("  {:.2f} x one request", *figure.of_single);
  if (figure.service) {
    fmt::print("  first token {:.0f} ms, then one each {:.1f} ms",
               1e3 * figure.service->first_token_s, 1e3 * figure.service->inter_token_s);
  }
  fmt::print("\n");
}

void PrintTable(const Benchmark& benchmark, const Bounds* bounds, const Runtime& runtime,
                int repeat) {
  fmt::print("{} threads, median of {}\n", runtime.threads(), repeat);
  if (bounds != nullptr) {
    fmt::print("measured here: {:.1f} GB/s read", bounds->peaks().read_bytes_per_s / 1e9);
    for (const PeakRate& rate : bounds->peaks().rates)
      fmt::print(", {:.0f} GOP/s {}", rate.operations_per_s / 1e9, rate.name);
    fmt::print("\n");
  }
  fmt::print("\n{:<43} {:>10}", "", "tokens/s");
  if (bounds != nullptr) fmt::print(" {:>10} {:>8}", "bound", "reached");
  fmt::print("\n");
  for (const Figure& figure : benchmark.figures()) PrintFigure(figure, bounds);
}

void Report(const BenchOptions& options, const Benchmark& benchmark, const Bounds* bounds,
            const Runtime& runtime, const Engine& engine) {
  if (options.json) {
    fmt::print("{}\n", DumpJson(BenchJson(benchmark, bounds, runtime, engine)));
  } else {
    PrintTable(benchmark, bounds, runtime, options.repeat);
  }
}

Status Bench(const BenchOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.Settings());
  ASSIGN_OR_RETURN(const auto runtime, Runtime::Open(options.model, environment));
  std::vector<std::int32_t> prompt =
      SpreadPrompt(options.prompt, runtime->model().model.info.vocab);
  if (!options.ids.empty()) {
    ASSIGN_OR_RETURN(const Json json, ParseJson(options.ids));
    ASSIGN_OR_RETURN(prompt, IdsFromJson(json));
    if (prompt.empty()) return InvalidArgument("--ids: give at least one token");
  }
  MakeRoom(options, static_cast<std::int64_t>(prompt.size()), settings);
  // This processor's bounds are not those of a simulated device.
  const bool bounded = !options.no_bounds && runtime->sim_backend() == nullptr;
  Peaks peaks;
  if (bounded) {
    auto measured = Measure(*runtime);
    if (!measured.ok()) return measured.error().In("the bounds, which --no-bounds leaves out");
    peaks = *std::move(measured);
  }
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  Benchmark benchmark(options, std::move(prompt), *engine);
  RETURN_IF_ERROR(benchmark.Run());
  if (!bounded) {
    Report(options, benchmark, nullptr, *runtime, *engine);
    return {};
  }
  // Again, since other programs may have been busy before; beside the model there may be no room.
  if (const auto measured = Measure(*runtime); measured.ok()) peaks.TakeBest(*measured);
  const Bounds bounds(runtime->model().model.graph, runtime->model().Formats(),
                      {.features = runtime->features(),
                       .precision = settings.precision,
                       .kv_dtype = settings.kv_dtype,
                       .kernel = options.model.kernel},
                      std::move(peaks));
  Report(options, benchmark, &bounds, *runtime, *engine);
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
  const auto add_counts = [&](const char* name, std::vector<std::int64_t>& counts,
                              const char* help) {
    app.add_option(name, counts, help)->delimiter(',')->check(CLI::PositiveNumber);
  };
  add_counts("--depth", options->depths,
             "also decode behind so many tokens, such as 8192; measured once");
  add_counts("--batch", options->batches,
             "also decode so many requests side by side, such as 1,4,16");
  add_counts("--concurrency", options->concurrencies,
             "also serve so many requests that arrive together, prompts and answers");
  app.add_option("--ids", options->ids, "the prompt itself, a JSON array of token ids");
  app.add_flag("--no-bounds", options->no_bounds,
               "do not measure what this processor could do at best");
  app.add_flag("--json", options->json, "one JSON object");
  app.footer(
      "A bound is the least time of the work: the bytes that it reads over the read bandwidth of "
      "memory, or its\noperations over the rate of their arithmetic, as measured in the same run "
      "on "
      "as many threads. Only what the\ncaches hold can be read faster.");
  app.callback(
      [&, options] { action = [&environment, options] { return Bench(*options, environment); }; });
}

}  // namespace tonnage::cli
